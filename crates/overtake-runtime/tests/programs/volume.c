// Records more than fits: distinct addresses, no synchronisation.
#include <stdio.h>
#include <stdlib.h>
static volatile char area[64 << 20];
int main(int count, char **arguments) {
    long limit = atol(arguments[1]);
    for (long i = 0; i < limit; i++) area[i * 64 % sizeof area] = (char)i;
    printf("first %p\ndone %ld\n", (void *)area, limit);
    return 0;
}

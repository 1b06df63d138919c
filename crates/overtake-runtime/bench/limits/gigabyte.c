// So many megabytes, which one thread writes and another one compares.
#include <pthread.h>
#include <stdlib.h>
static long numbers, differences;
static long *data;
static void *compare(void *unused) {
    for (long i = 0; i < numbers; i++) differences += data[i] != i;
    return unused;
}
int main(int argc, char **argv) {
    numbers = (argc > 1 ? atol(argv[1]) : 0) << 17;
    data = malloc(numbers * sizeof *data + 1);
    for (long i = 0; i < numbers; i++) data[i] = i;
    pthread_t thread;
    if (pthread_create(&thread, 0, compare, 0)) return 1;
    pthread_join(thread, 0);
    return differences != 0;
}

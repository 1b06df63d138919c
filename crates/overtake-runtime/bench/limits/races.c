// So many racing accesses, each to a variable of its own.
#include <pthread.h>
#include <stdlib.h>
static long races;
static long *data;
static void *write_all(void *value) {
    for (long i = 0; i < races; i++) data[i * 2] = (long)value;
    return 0;
}
int main(int argc, char **argv) {
    races = argc > 1 ? atol(argv[1]) : 0;
    data = malloc(races * 2 * sizeof *data + 1);
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        if (pthread_create(&threads[i], 0, write_all, (void *)i)) return 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}

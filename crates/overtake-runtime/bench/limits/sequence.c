// Many short threads, one after the other.
#include <pthread.h>
#include <stdlib.h>
static long counted;
static void *count(void *unused) {
    counted++;
    return unused;
}
int main(int argc, char **argv) {
    long threads = argc > 1 ? atol(argv[1]) : 0;
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, count, 0)) return 1;
        pthread_join(thread, 0);
    }
    return counted != threads;
}

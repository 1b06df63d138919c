// Many threads at once, each of which waits for all others under one lock.
#include <pthread.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long present, threads;
static void *wait_for_all(void *unused) {
    pthread_mutex_lock(&mutex);
    if (++present == threads) pthread_cond_broadcast(&changed);
    while (present < threads) pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    return unused;
}
int main(int argc, char **argv) {
    threads = argc > 1 ? atol(argv[1]) : 0;
    pthread_t *started = malloc(sizeof *started * threads);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (long i = 0; i < threads; i++)
        if (pthread_create(&started[i], &small, wait_for_all, 0)) return 1;
    for (long i = 0; i < threads; i++) pthread_join(started[i], 0);
    return 0;
}

// 5,000 threads at once, the last of them with 1,000 mutexes held.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { THREADS = 5000, LOCKS = 1000 };
static pthread_mutex_t locks[LOCKS];
static pthread_barrier_t all;
static int slot[THREADS];
static void *run(void *number) {
    slot[(long)number] = 1;
    pthread_barrier_wait(&all);
    return 0;
}
int main(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&all, 0, THREADS + 1);
    printf("barrier %p\n", (void *)&all);
    for (long i = 0; i < THREADS; i++)
        if (pthread_create(&threads[i], &small, run, (void *)i) != 0) { printf("no thread %ld\n", i); return 1; }
    for (int i = 0; i < LOCKS; i++) { pthread_mutex_init(&locks[i], 0); pthread_mutex_lock(&locks[i]); }
    for (int i = 0; i < LOCKS; i++) pthread_mutex_unlock(&locks[i]);
    pthread_barrier_wait(&all);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    return 0;
}

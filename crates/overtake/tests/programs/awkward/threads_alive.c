#include "awkward.h"
#define THREADS 10000
static pthread_barrier_t all;
static void *meet(void *unused) {
    pthread_barrier_wait(&all);
    return count(unused);
}
int main(void) {
    static pthread_t threads[THREADS];
    pthread_attr_t small;
    int started = 0;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    pthread_barrier_init(&all, 0, THREADS);
    while (started < THREADS && pthread_create(&threads[started], &small, meet, 0) == 0) started++;
    printf("%d threads\n", started);
    if (started < THREADS) _exit(1);
    for (int i = 0; i < started; i++) pthread_join(threads[i], 0);
    printf("%d\n", counted);
    race();
    return 0;
}

// Two threads count under a mutex, with some private work in between. -DPART=8 makes it do about an eighth of the work.
#ifndef PART
#define PART 1
#endif
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long shared;
static void *run(void *unused) {
    long mine[64] = {0};
    for (int round = 0; round < 400000 / PART; round++) {
        for (int i = 0; i < 16; i++) mine[(round + i) % 64] += i;
        pthread_mutex_lock(&mutex);
        shared += mine[round % 64];
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%ld\n", shared);
    return 0;
}

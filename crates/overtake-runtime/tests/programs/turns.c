// Two threads lock one mutex in turns, the second one in every possible way. They learn whose turn it is without the recorder seeing it.
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
enum { TURNS = 50, WAYS = 6 };
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static volatile int turn;
__attribute__((no_sanitize_thread, noinline)) static void wait_for(int number) {
    while (turn != number) sched_yield();
}
__attribute__((no_sanitize_thread, noinline)) static void next(void) { turn++; }
static void take_unrecorded(void) {
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
}
static void take(int way) {
    struct timespec past = {1, 0}, future = {4000000000, 0};
    switch (way) {
    case 0: pthread_mutex_lock(&mutex); break;
    case 1: pthread_mutex_trylock(&mutex); break;
    case 2: pthread_mutex_timedlock(&mutex, &future); break;
    case 3: pthread_mutex_clocklock(&mutex, CLOCK_REALTIME, &future); break;
    case 4:
        pthread_mutex_lock(&mutex);
        pthread_cond_timedwait(&never, &mutex, &past);
        break;
    case 5:
        take_unrecorded();
        pthread_mutex_lock(&mutex);
    }
}
static void *run(void *second) {
    for (int number = second ? 1 : 0; number < TURNS * WAYS; number += 2) {
        wait_for(number);
        if (!second && number % 3 == 0) take_unrecorded();
        take(second ? number / TURNS : 0);
        pthread_mutex_unlock(&mutex);
        next();
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    printf("mutex %p\n", (void *)&mutex);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}

// Mutexes that are acquired in every way: by waiting, trying, with a time limit, after a condition wait, and without being recorded.
#include <pthread.h>
#include <stdio.h>
#include <time.h>
enum { THREADS = 3, ROUNDS = 30000 };
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER, robust;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int counter, counter2;
static void take(pthread_mutex_t *mutex, int how) {
    struct timespec never = {4000000000, 0};
    switch (how % 4) {
    case 0:
        while (pthread_mutex_trylock(mutex)) {}
        break;
    case 1:
        pthread_mutex_timedlock(mutex, &never);
        break;
    default:
        pthread_mutex_lock(mutex);
    }
}
static void *run(void *number) {
    int me = (int)(long)number;
    struct timespec past = {1, 0};
    for (int round = 0; round < ROUNDS; round++) {
        take(&first, round / 7 + me);
        counter++;
        pthread_mutex_unlock(&first);
        if (round % 5 == me) {
            pthread_mutex_lock(&second);
            counter2++;
            pthread_cond_timedwait(&turned, &second, &past); // releases the mutex and acquires it again
            counter2++;
            pthread_mutex_unlock(&second);
        }
        if (round % 11 == 0) {
            pthread_mutex_lock(&robust);
            pthread_mutex_unlock(&robust);
        }
        if (round % 13 == 0) {
            AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
            pthread_mutex_lock(&first);
            counter++;
            pthread_mutex_unlock(&first);
            AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
        }
    }
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    printf("first %p\nsecond %p\nrobust %p\n", (void *)&first, (void *)&second, (void *)&robust);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    return 0;
}

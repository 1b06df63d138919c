// Threads synchronise through one of each kind of object.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, recursive, robust;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static pthread_key_t key;
static int ready;
volatile int in_destructor;
static void initialise(void) { ready = 0; }
static void destructor(void *value) { in_destructor = 1; }
static struct timespec in(int clock, int milliseconds) {
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_nsec += milliseconds * 1000000L;
    if (time.tv_nsec >= 1000000000L) { time.tv_nsec -= 1000000000L; time.tv_sec++; }
    return time;
}
static void *run(void *unused) {
    pthread_setname_np(pthread_self(), "worker");
    pthread_setspecific(key, &key);
    pthread_once(&once, initialise);
    pthread_mutex_lock(&mutex);
    while (!ready) pthread_cond_wait(&condition, &mutex);
    pthread_mutex_unlock(&mutex);
    pthread_rwlock_rdlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    sem_wait(&semaphore);
    pthread_mutex_lock(&robust); // and never unlocks it
    pthread_barrier_wait(&barrier);
    pthread_exit((void *)5);
}
#define TRY(call) do { int error = call; if (error != 0) { printf("%s: %d\n", #call, error); return 1; } } while (0)
#define FAILS(expected, call) do { int error = call; if (error != expected) { printf("%s: %d\n", #call, error); return 1; } } while (0)
int main(void) {
    pthread_t thread;
    pthread_mutexattr_t attributes;
    struct timespec time;
    void *result;
    printf("mutex %p\nrecursive %p\nrobust %p\nrwlock %p\ncondition %p\nbarrier %p\nonce %p\nsemaphore %p\nin_destructor %p\n",
        (void *)&mutex, (void *)&recursive, (void *)&robust, (void *)&rwlock, (void *)&condition, (void *)&barrier, (void *)&once, (void *)&semaphore, (void *)&in_destructor);
    pthread_key_create(&key, destructor);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &attributes);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    pthread_barrier_init(&barrier, 0, 2);
    sem_init(&semaphore, 0, 0);
    pthread_once(&once, initialise);
    TRY(pthread_create(&thread, 0, run, 0));
    pthread_mutex_lock(&mutex);
    ready = 1;
    pthread_cond_signal(&condition);
    pthread_mutex_unlock(&mutex);
    sem_post(&semaphore);
    pthread_barrier_wait(&barrier);
    time = in(CLOCK_MONOTONIC, 10000);
    TRY(pthread_clockjoin_np(thread, &result, CLOCK_MONOTONIC, &time));
    if (result != (void *)5) return 1;
    FAILS(EOWNERDEAD, pthread_mutex_lock(&robust));
    TRY(pthread_mutex_consistent(&robust));
    TRY(pthread_mutex_unlock(&robust));
    TRY(pthread_mutex_lock(&recursive));
    TRY(pthread_mutex_trylock(&recursive));
    TRY(pthread_mutex_unlock(&recursive));
    TRY(pthread_mutex_unlock(&recursive));
    TRY(pthread_mutex_destroy(&recursive));
    time = in(CLOCK_REALTIME, 100);
    TRY(pthread_mutex_timedlock(&mutex, &time));
    FAILS(EBUSY, pthread_mutex_trylock(&mutex));
    time = in(CLOCK_REALTIME, 5);
    FAILS(ETIMEDOUT, pthread_cond_timedwait(&condition, &mutex, &time));
    time = in(CLOCK_MONOTONIC, 5);
    FAILS(ETIMEDOUT, pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &time));
    TRY(pthread_mutex_unlock(&mutex));
    time = in(CLOCK_MONOTONIC, 100);
    TRY(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &time));
    TRY(pthread_mutex_unlock(&mutex));
    TRY(pthread_rwlock_wrlock(&rwlock));
    FAILS(EBUSY, pthread_rwlock_tryrdlock(&rwlock));
    TRY(pthread_rwlock_unlock(&rwlock));
    TRY(pthread_rwlock_clockrdlock(&rwlock, CLOCK_MONOTONIC, &time));
    TRY(pthread_rwlock_unlock(&rwlock));
    time = in(CLOCK_REALTIME, 5);
    FAILS(-1, sem_timedwait(&semaphore, &time));
    if (errno != ETIMEDOUT) return 1;
    errno = 77;
    sem_post(&semaphore);
    TRY(sem_trywait(&semaphore));
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    free(malloc(10));
    if (errno != 77) return 1;
    return 0;
}

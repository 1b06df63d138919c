/* Recursive, robust and timed mutexes, reader-writer locks with clocks, spin locks, and a mutex that is destroyed and made anew. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

static pthread_mutex_t recursive, robust, timed = PTHREAD_MUTEX_INITIALIZER, again;
static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int counts[6];

static struct timespec soon(void)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 60;
    return until;
}

static void *worker(void *unused)
{
    for (int i = 0; i < 20; i++) {
        struct timespec until = soon();
        pthread_mutex_lock(&recursive);
        pthread_mutex_lock(&recursive);
        counts[0]++;
        pthread_mutex_unlock(&recursive);
        counts[0]++;
        pthread_mutex_unlock(&recursive);
        pthread_mutex_clocklock(&timed, CLOCK_MONOTONIC, &until);
        counts[1]++;
        pthread_mutex_unlock(&timed);
        pthread_rwlock_clockwrlock(&shared, CLOCK_MONOTONIC, &until);
        counts[2]++;
        pthread_rwlock_unlock(&shared);
        pthread_rwlock_clockrdlock(&shared, CLOCK_MONOTONIC, &until);
        int seen = counts[2];
        pthread_rwlock_unlock(&shared);
        pthread_spin_lock(&spin);
        counts[3] += seen;
        pthread_spin_unlock(&spin);
        if (pthread_mutex_trylock(&again) == 0) {
            counts[5]++;
            pthread_mutex_unlock(&again);
        }
    }
    return unused;
}

static void *dies_with_lock(void *unused)
{
    pthread_mutex_lock(&robust);
    counts[4] = 1;
    return unused;
}

static void *inherits(void *unused)
{
    if (pthread_mutex_lock(&robust) == EOWNERDEAD)
        pthread_mutex_consistent(&robust);
    counts[4]++;
    pthread_mutex_unlock(&robust);
    return unused;
}

int main(void)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&recursive, &kind);
    pthread_mutexattr_init(&kind);
    pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &kind);
    pthread_spin_init(&spin, 0);
    for (int round = 0; round < 2; round++) {
        pthread_t threads[3];
        pthread_mutex_init(&again, 0);
        for (int i = 0; i < 3; i++)
            pthread_create(&threads[i], 0, worker, 0);
        for (int i = 0; i < 3; i++)
            pthread_join(threads[i], 0);
        pthread_mutex_destroy(&again);
    }
    pthread_t first, second;
    pthread_create(&first, 0, dies_with_lock, 0);
    pthread_create(&second, 0, inherits, 0);
    pthread_join(first, 0);
    pthread_join(second, 0);
    return counts[0] != 240;
}

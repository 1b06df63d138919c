/* Hand-overs by condition variables: one waiter, several waiters and a broadcast, a wait with a clock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn, go, payload, answers[4];

static void *player(void *unused)
{
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        while (turn != 1)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        payload++;
        pthread_mutex_lock(&lock);
        turn = 0;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void *listener(void *number)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 60;
    pthread_mutex_lock(&lock);
    while (!go)
        pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &until);
    pthread_mutex_unlock(&lock);
    answers[(long)number] = payload;
    return 0;
}

int main(void)
{
    pthread_t other, listeners[4];
    for (long i = 0; i < 4; i++)
        pthread_create(&listeners[i], 0, listener, (void *)i);
    pthread_create(&other, 0, player, 0);
    for (int i = 0; i < 50; i++) {
        pthread_mutex_lock(&lock);
        while (turn != 0)
            pthread_cond_wait(&changed, &lock);
        pthread_mutex_unlock(&lock);
        payload++;
        pthread_mutex_lock(&lock);
        turn = 1;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(other, 0);
    pthread_mutex_lock(&lock);
    go = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    int sum = 0;
    for (int i = 0; i < 4; i++) {
        pthread_join(listeners[i], 0);
        sum += answers[i];
    }
    return sum != 400;
}

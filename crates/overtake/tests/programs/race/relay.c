/* Two locks and a thread that takes one after the other stand between the accesses, and protect neither. */
#include <pthread.h>
#include "../hidden_order.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void touch(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    pthread_mutex_unlock(lock);
}

static void *first(void *unused)
{
    shared = 1; /* race */
    touch(&left);
    reach(1);
    return unused;
}

static void *relay(void *unused)
{
    await(1);
    touch(&left);
    touch(&right);
    reach(2);
    return unused;
}

static void *second(void *unused)
{
    await(2);
    touch(&right);
    shared = 2; /* race */
    return unused;
}

int main(void)
{
    void *(*starts[])(void *) = {first, relay, second};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, starts[i], 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}

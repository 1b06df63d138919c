/* Two threads take two mutexes in opposite orders, one after the other. */
#include <pthread.h>
#include "../../hidden_order.h"

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void *first(void *unused)
{
    pthread_mutex_lock(&left);
    pthread_mutex_lock(&right);
    shared++;
    pthread_mutex_unlock(&right);
    pthread_mutex_unlock(&left);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_mutex_lock(&right);
    pthread_mutex_lock(&left);
    shared++;
    pthread_mutex_unlock(&left);
    pthread_mutex_unlock(&right);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

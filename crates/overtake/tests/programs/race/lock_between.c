/* A write before a critical section in one thread, a write behind one in the other: the sections hide the race. */
#include <pthread.h>
#include "../hidden_order.h"

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void *first(void *unused)
{
    shared = 1; /* race */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    shared = 2; /* race */
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

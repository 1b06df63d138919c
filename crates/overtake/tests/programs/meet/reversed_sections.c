/* The accesses meet only if the two critical sections come in the other order. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void *first(void *unused)
{
    pthread_mutex_lock(&lock);
    shared = 1; /* race */
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

/* Both threads count by atomic increments whose results nobody uses. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static atomic_int count;
int shared;

static void *first(void *unused)
{
    shared = 1; /* race */
    atomic_fetch_add(&count, 1);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    atomic_fetch_add(&count, 1);
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

/* The payload is read whatever the check says that was meant to protect it. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static atomic_int is_set;
int shared;

static void *first(void *unused)
{
    shared = 1; /* race */
    atomic_store_explicit(&is_set, 1, memory_order_release);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    atomic_load_explicit(&is_set, memory_order_acquire);
    volatile int payload = shared; /* race */
    (void)payload;
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

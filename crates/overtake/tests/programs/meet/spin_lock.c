/* The accesses meet only if the two critical sections of a spin lock come in the other order. */
#include <pthread.h>
#include "../hidden_order.h"

static pthread_spinlock_t lock;
int shared;

static void *first(void *unused)
{
    pthread_spin_lock(&lock);
    shared = 1; /* race */
    pthread_spin_unlock(&lock);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_spin_lock(&lock);
    pthread_spin_unlock(&lock);
    shared = 2; /* race */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

/* A barrier is initialised by one thread and used by another, which nothing orders after it. */
#include <pthread.h>
#include "../hidden_order.h"

pthread_barrier_t barrier;

static void *initialise(void *unused)
{
    pthread_barrier_init(&barrier, 0, 1); /* race */
    reach(1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, initialise, 0);
    await(1);
    pthread_barrier_wait(&barrier); /* race */
    pthread_join(thread, 0);
    return 0;
}

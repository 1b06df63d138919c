/* A relaxed store by another thread breaks the release sequence, so that the load acquires nothing. */
#include <pthread.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static atomic_int flag;
static int data;

static void *writer(void *unused)
{
    data = 1; /* race */
    atomic_store_explicit(&flag, 1, memory_order_release);
    reach(1);
    return unused;
}

static void *breaker(void *unused)
{
    await(1);
    atomic_store_explicit(&flag, 2, memory_order_relaxed);
    reach(2);
    return unused;
}

static void *reader(void *unused)
{
    await(2);
    if (atomic_load_explicit(&flag, memory_order_acquire) == 2)
        data++; /* race */
    return unused;
}

int main(void)
{
    void *(*starts[])(void *) = {writer, breaker, reader};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], 0, starts[i], 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], 0);
    return 0;
}

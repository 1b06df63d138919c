/* One thread updates a counter atomically, the other one sets it as if it were alone. */
#include <pthread.h>
#include "../hidden_order.h"

static int counter;

static void *adder(void *unused)
{
    __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED); /* race */
    reach(1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, adder, 0);
    await(1);
    counter = 7; /* race */
    pthread_join(thread, 0);
    return 0;
}

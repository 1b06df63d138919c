/* A thread counts in a loop. Another one sees the first count by an atomic load, which orders that count before its plain read, but not the second. */
#include <pthread.h>
#include "../hidden_order.h"

static long counter;

static void *reader(void *unused)
{
    (void)unused;
    await(1);
    __atomic_load_n(&counter, __ATOMIC_ACQUIRE);
    *(volatile long *)&counter; /* race */
    reach(2);
    return 0;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    for (int turn = 1; turn <= 3; turn += 2) {
        __atomic_fetch_add(&counter, 1, __ATOMIC_ACQ_REL); /* race */
        reach(turn);
        if (turn == 1)
            await(2);
    }
    pthread_join(thread, 0);
    return 0;
}

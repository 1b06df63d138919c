// Two threads take turns through one atomic variable, and add to another.
#include <pthread.h>
#include <stdatomic.h>
#include <sched.h>
#include <stdio.h>
enum { ROUNDS = 100000 };
static atomic_int turn;
static atomic_long sum;
static void *run(void *me) {
    for (int round = 0; round < ROUNDS; round++) {
        while (atomic_load_explicit(&turn, memory_order_acquire) != (me != 0)) sched_yield();
        atomic_fetch_add_explicit(&sum, 1, memory_order_relaxed);
        atomic_store_explicit(&turn, me == 0, memory_order_release);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    printf("turn %p\nsum %p\n", (void *)&turn, (void *)&sum);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return sum != 2 * ROUNDS;
}

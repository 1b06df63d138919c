/* Release and acquire, a release sequence through relaxed additions, fences, and a spin lock of atomics. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

static atomic_int flag, sequence, fenced, spin;
static int by_flag, by_sequence, by_fence, by_spin;

static void *writer(void *unused)
{
    by_flag = 1;
    atomic_store_explicit(&flag, 1, memory_order_release);
    by_sequence = 2;
    atomic_store_explicit(&sequence, 1, memory_order_release);
    by_fence = 3;
    atomic_thread_fence(memory_order_release);
    atomic_store_explicit(&fenced, 1, memory_order_relaxed);
    return unused;
}

static void *adder(void *unused)
{
    while (atomic_load_explicit(&sequence, memory_order_relaxed) == 0)
        sched_yield();
    atomic_fetch_add_explicit(&sequence, 1, memory_order_relaxed);
    return unused;
}

static void *reader(void *unused)
{
    while (!atomic_load_explicit(&flag, memory_order_acquire))
        sched_yield();
    by_flag++;
    while (atomic_load_explicit(&sequence, memory_order_acquire) != 2)
        sched_yield();
    by_sequence++;
    while (!atomic_load_explicit(&fenced, memory_order_relaxed))
        sched_yield();
    atomic_thread_fence(memory_order_acquire);
    by_fence++;
    return unused;
}

static void *spinner(void *unused)
{
    for (int i = 0; i < 30; i++) {
        int expected = 0;
        while (!atomic_compare_exchange_weak_explicit(&spin, &expected, 1, memory_order_acquire, memory_order_relaxed)) {
            expected = 0;
            sched_yield();
        }
        by_spin++;
        atomic_store_explicit(&spin, 0, memory_order_release);
    }
    return unused;
}

int main(void)
{
    void *(*starts[])(void *) = {writer, adder, reader, spinner, spinner};
    pthread_t threads[5];
    for (int i = 0; i < 5; i++)
        pthread_create(&threads[i], 0, starts[i], 0);
    for (int i = 0; i < 5; i++)
        pthread_join(threads[i], 0);
    return by_flag + by_sequence + by_fence != 9 || by_spin != 60;
}

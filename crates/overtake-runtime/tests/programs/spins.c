// The same atomic operation many times, with and without something in between.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
void __tsan_testonly_barrier_init(void *barrier, unsigned count);
void __tsan_testonly_barrier_wait(void *barrier);
static _Atomic int alone, disturbed, stored, updated, updated_and_disturbed, in_turns, watched;
static volatile int other;
static unsigned long long barrier;
static void *second(void *unused) {
    for (int i = 0; i < 100; i++) {
        __tsan_testonly_barrier_wait(&barrier); // nothing of it is recorded
        atomic_fetch_add(&in_turns, 1);
        atomic_load(&watched);
        __tsan_testonly_barrier_wait(&barrier);
    }
    return unused;
}
int main(void) {
    printf("alone %p\ndisturbed %p\nstored %p\n", (void *)&alone, (void *)&disturbed, (void *)&stored);
    printf("watched %p\n", (void *)&watched);
    printf("updated %p\nupdated_and_disturbed %p\nin_turns %p\n", (void *)&updated, (void *)&updated_and_disturbed, (void *)&in_turns);
    for (int i = 0; i < 100000; i++) atomic_load_explicit(&alone, memory_order_acquire);
    for (int i = 0; i < 1000; i++) {
        atomic_load_explicit(&disturbed, memory_order_acquire);
        other = i;
    }
    for (int i = 0; i < 1000; i++) {
        for (int again = 0; again < 10; again++) atomic_load_explicit(&stored, memory_order_acquire);
        atomic_store_explicit(&stored, i, memory_order_release);
    }
    for (int i = 0; i < 100000; i++) atomic_fetch_add(&updated, 1);
    for (int i = 0; i < 1000; i++) {
        atomic_fetch_add(&updated_and_disturbed, 1);
        other = i;
    }
    pthread_t thread;
    __tsan_testonly_barrier_init(&barrier, 2);
    pthread_create(&thread, 0, second, 0);
    for (int i = 0; i < 100; i++) {
        atomic_fetch_add(&in_turns, 1);
        __tsan_testonly_barrier_wait(&barrier);
        __tsan_testonly_barrier_wait(&barrier);
    }
    pthread_join(thread, 0);
    pthread_create(&thread, 0, second, 0);
    for (int i = 0; i < 100; i++) {
        atomic_fetch_add(&watched, 1);
        __tsan_testonly_barrier_wait(&barrier);
        __tsan_testonly_barrier_wait(&barrier);
    }
    pthread_join(thread, 0);
    return 0;
}

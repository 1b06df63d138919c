// Loads the same store many times, with and without something in between.
#include <stdatomic.h>
#include <stdio.h>
static _Atomic int alone, disturbed, stored;
static volatile int other;
int main(void) {
    printf("alone %p\ndisturbed %p\nstored %p\n", (void *)&alone, (void *)&disturbed, (void *)&stored);
    for (int i = 0; i < 100000; i++) atomic_load_explicit(&alone, memory_order_acquire);
    for (int i = 0; i < 1000; i++) {
        atomic_load_explicit(&disturbed, memory_order_acquire);
        other = i;
    }
    for (int i = 0; i < 1000; i++) {
        for (int again = 0; again < 10; again++) atomic_load_explicit(&stored, memory_order_acquire);
        atomic_store_explicit(&stored, i, memory_order_release);
    }
    return 0;
}

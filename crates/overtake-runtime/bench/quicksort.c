// Quicksort of two halves by two threads. -DPART=8 makes it do about an eighth of the work.
#ifndef PART
#define PART 1
#endif
#include <pthread.h>
#include <stdio.h>
enum { N = 2000000 / PART };
static int numbers[N];
static void sort(int *from, int *to) {
    while (to - from > 1) {
        int pivot = from[(to - from) / 2], *low = from, *high = to - 1;
        while (low <= high) {
            while (*low < pivot) low++;
            while (*high > pivot) high--;
            if (low <= high) { int swap = *low; *low++ = *high; *high-- = swap; }
        }
        if (high + 1 - from < to - low) { sort(from, high + 1); from = low; } else { sort(low, to); to = high + 1; }
    }
}
static void *run(void *half) { sort(numbers + (half ? N / 2 : 0), numbers + (half ? N : N / 2)); return 0; }
int main(void) {
    pthread_t threads[2];
    unsigned state = 1;
    for (int i = 0; i < N; i++) { state = state * 1664525 + 1013904223; numbers[i] = (int)(state >> 4); }
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d\n", numbers[N / 4]);
    return 0;
}

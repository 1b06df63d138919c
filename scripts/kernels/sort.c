/* Merge sort: a tree of threads, each of which sorts half of what its parent was given. */
#include "crew.h"

static int *numbers, *spare;

struct part {
    long start, end, threads;
};

static void merge(long start, long middle, long end) {
    long left = start, right = middle;
    for (long at = start; at < end; at++)
        spare[at] = left < middle && (right == end || numbers[left] <= numbers[right]) ? numbers[left++] : numbers[right++];
    for (long at = start; at < end; at++) numbers[at] = spare[at];
}

static void *sort(void *argument) {
    struct part *part = argument;
    if (part->end - part->start < 2) return 0;
    long middle = (part->start + part->end) / 2;
    struct part left = {part->start, middle, part->threads / 2}, right = {middle, part->end, part->threads / 2};
    pthread_t helper;
    if (part->threads > 1) pthread_create(&helper, 0, sort, &left);
    else sort(&left);
    sort(&right);
    if (part->threads > 1) pthread_join(helper, 0);
    merge(part->start, middle, part->end);
    return 0;
}

int main(int argc, char **argv) {
    crew(argc, argv, 20000);
    uint32_t state = 1;
    numbers = allocated(size * sizeof *numbers);
    spare = allocated(size * sizeof *spare);
    for (long at = 0; at < size; at++) numbers[at] = next_random(&state);
    sort(&(struct part){0, size, threads});
    for (long at = 1; at < size; at++)
        if (numbers[at - 1] > numbers[at]) return 1;
    free(numbers);
    free(spare);
}

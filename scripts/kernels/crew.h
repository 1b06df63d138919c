/* A crew of threads with a barrier, for the kernels beside this file. Each takes the size of its problem and the number of threads. */
#ifndef CREW_H
#define CREW_H
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static long size, threads;
static pthread_barrier_t barrier;

static void meet(void) { pthread_barrier_wait(&barrier); }

/* The first and the last element, and one more, of a thread's share of `length`. */
static long share_start(long number, long length) { return number * length / threads; }
static long share_end(long number, long length) { return (number + 1) * length / threads; }

/* Numbers that look random and are the same in every run. */
static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void *allocated(size_t bytes) {
    void *block = malloc(bytes);
    if (!block) {
        perror("malloc");
        exit(1);
    }
    return block;
}

static void crew(int argc, char **argv, long usual_size) {
    size = argc > 1 ? atol(argv[1]) : usual_size;
    threads = argc > 2 ? atol(argv[2]) : 4;
    pthread_barrier_init(&barrier, 0, threads);
}

static void work_together(void *(*work)(void *)) {
    pthread_t *crew = allocated(threads * sizeof *crew);
    for (long number = 0; number < threads; number++) pthread_create(&crew[number], 0, work, (void *)number);
    for (long number = 0; number < threads; number++) pthread_join(crew[number], 0);
    free(crew);
}
#endif

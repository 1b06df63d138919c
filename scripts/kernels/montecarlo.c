/* Monte Carlo: threads take chunks of work from a counter under a lock and add what they found to a table under locks of its rows.
   With RACY they also note which chunk came last, and how many there were, without a lock. */
#include "crew.h"

#define ROWS 16

static long taken, hits[ROWS];
#ifdef RACY
static long latest, tried;
#endif
static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER, row_locks[ROWS];

static void *work(void *at) {
    uint32_t state = 1 + (uint32_t)(long)at;
    for (;;) {
        pthread_mutex_lock(&work_lock);
        long chunk = taken < size ? taken++ : -1;
        pthread_mutex_unlock(&work_lock);
        if (chunk < 0) return 0;
#ifdef RACY
        if (chunk % 16 == 0) tried++;
        if (chunk % 64 == 0) latest = chunk;
#endif
        long inside = 0, values[64];
        for (int at = 0; at < 64; at++) values[at] = next_random(&state) % 1000;
        for (int at = 0; at < 64; at += 2) inside += values[at] * values[at] + values[at + 1] * values[at + 1] < 1000000;
        pthread_mutex_lock(&row_locks[chunk % ROWS]);
        hits[chunk % ROWS] += inside;
        pthread_mutex_unlock(&row_locks[chunk % ROWS]);
#ifdef RACY
        if (chunk % 64 == 32 && latest < 0) return 0;
#endif
    }
}

int main(int argc, char **argv) {
    crew(argc, argv, 10000);
    for (int row = 0; row < ROWS; row++) pthread_mutex_init(&row_locks[row], 0);
    work_together(work);
    long sum = 0;
    for (int row = 0; row < ROWS; row++) sum += hits[row];
    printf("%g\n", 4.0 * sum / (32.0 * size));
}

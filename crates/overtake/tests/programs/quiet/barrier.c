/* Rounds of neighbours that read what the others wrote before the barrier. */
#include <pthread.h>

enum { threads = 4, rounds = 20 };
static pthread_barrier_t barrier;
static int cells[threads];

static void *worker(void *number)
{
    long me = (long)number;
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        cells[me] = round;
        pthread_barrier_wait(&barrier);
        sum += cells[(me + 1) % threads];
        pthread_barrier_wait(&barrier);
    }
    return (void *)(long)sum;
}

int main(void)
{
    pthread_t all[threads];
    pthread_barrier_init(&barrier, 0, threads);
    for (long i = 0; i < threads; i++)
        pthread_create(&all[i], 0, worker, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], 0);
    pthread_barrier_destroy(&barrier);
    return 0;
}

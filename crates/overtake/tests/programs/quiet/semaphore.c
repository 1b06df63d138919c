/* A bounded buffer of one place with two semaphores, and workers that report that they are done. */
#define _GNU_SOURCE
#include <pthread.h>
#include <semaphore.h>
#include <time.h>

static sem_t empty, full, done;
static int place, results[3];

static void *consumer(void *unused)
{
    for (int i = 0; i < 50; i++) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += 60;
        sem_clockwait(&full, CLOCK_MONOTONIC, &until);
        place--;
        sem_post(&empty);
    }
    return unused;
}

static void *worker(void *number)
{
    results[(long)number] = 1;
    sem_post(&done);
    return 0;
}

int main(void)
{
    pthread_t thread, workers[3];
    sem_init(&empty, 0, 1);
    sem_init(&full, 0, 0);
    sem_init(&done, 0, 0);
    pthread_create(&thread, 0, consumer, 0);
    for (int i = 0; i < 50; i++) {
        sem_wait(&empty);
        place++;
        sem_post(&full);
    }
    pthread_join(thread, 0);
    for (long i = 0; i < 3; i++) {
        pthread_create(&workers[i], 0, worker, (void *)i);
        pthread_detach(workers[i]);
    }
    for (int i = 0; i < 3; i++)
        sem_wait(&done);
    return results[0] + results[1] + results[2] != 3;
}

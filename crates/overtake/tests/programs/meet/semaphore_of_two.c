/* A semaphore that lets two threads in orders nothing, although a post comes before a wait. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static sem_t room;
int shared;

static void *first(void *unused)
{
    sem_wait(&room);
    shared = 1; /* race */
    sem_post(&room);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    sem_wait(&room);
    shared = 2; /* race */
    sem_post(&room);
    return unused;
}

int main(void)
{
    sem_init(&room, 0, 2);
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

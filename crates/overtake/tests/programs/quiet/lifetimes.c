/* Objects that are made, used and destroyed in order, many times at the same address; descriptors likewise. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

struct together {
    pthread_mutex_t lock;
    pthread_cond_t ready;
    pthread_rwlock_t many;
    pthread_barrier_t both;
    sem_t count;
    int file;
    int done;
};

static void *use(void *argument)
{
    struct together *all = argument;
    char byte;
    pthread_mutex_lock(&all->lock);
    all->done = read(all->file, &byte, 1) == 1;
    pthread_cond_signal(&all->ready);
    pthread_mutex_unlock(&all->lock);
    pthread_rwlock_rdlock(&all->many);
    pthread_rwlock_unlock(&all->many);
    pthread_barrier_wait(&all->both);
    sem_post(&all->count);
    return 0;
}

static int once(void)
{
    struct together all;
    pthread_t thread;
    pthread_mutex_init(&all.lock, 0);
    pthread_cond_init(&all.ready, 0);
    pthread_rwlock_init(&all.many, 0);
    pthread_barrier_init(&all.both, 0, 2);
    sem_init(&all.count, 0, 0);
    all.done = 0;
    all.file = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, 0, use, &all);
    pthread_mutex_lock(&all.lock);
    while (!all.done)
        pthread_cond_wait(&all.ready, &all.lock);
    pthread_mutex_unlock(&all.lock);
    pthread_barrier_wait(&all.both);
    sem_wait(&all.count);
    pthread_join(thread, 0);
    close(all.file);
    pthread_mutex_destroy(&all.lock);
    pthread_cond_destroy(&all.ready);
    pthread_rwlock_destroy(&all.many);
    pthread_barrier_destroy(&all.both);
    sem_destroy(&all.count);
    return all.done;
}

int main(void)
{
    for (int round = 0; round < 5; round++)
        if (!once())
            return 1;
    return 0;
}

/* A condition variable is signalled without its lock, and the thread that this wakes frees it. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_order.h"

struct work {
    pthread_mutex_t lock;
    pthread_cond_t done;
    int is_done;
};

static void *worker(void *argument)
{
    struct work *work = argument;
    await(1);
    pthread_mutex_lock(&work->lock);
    work->is_done = 1;
    pthread_mutex_unlock(&work->lock);
    pthread_cond_signal(&work->done); /* race */
    reach(2);
    return 0;
}

int main(void)
{
    pthread_t thread;
    struct work *work = calloc(1, sizeof *work);
    pthread_mutex_init(&work->lock, 0);
    pthread_cond_init(&work->done, 0);
    pthread_create(&thread, 0, worker, work);
    pthread_mutex_lock(&work->lock);
    reach(1);
    while (!work->is_done)
        pthread_cond_wait(&work->done, &work->lock);
    pthread_mutex_unlock(&work->lock);
    await(2);
    free(work); /* race */
    pthread_join(thread, 0);
    return 0;
}

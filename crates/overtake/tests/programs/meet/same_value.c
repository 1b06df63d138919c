/* The second thread reads a value that it would find without the first one as well. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int ready;
int shared;

static void *first(void *unused)
{
    shared = 1; /* race */
    pthread_mutex_lock(&lock);
    ready = 1;
    pthread_mutex_unlock(&lock);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_mutex_lock(&lock);
    int is_ready = ready;
    pthread_mutex_unlock(&lock);
    if (is_ready)
        shared = 2; /* race */
    return unused;
}

int main(void)
{
    ready = 1;
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

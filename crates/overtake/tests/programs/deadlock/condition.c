/* The first thread waits on a condition variable with another mutex in hand. When the wait ends, it takes the condition's mutex again,
   under the other one: the opposite of what the second thread does. */
#include <pthread.h>
#include "../hidden_order.h"

static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER, journal = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static int items, written;

static void *first(void *unused)
{
    pthread_mutex_lock(&queue);
    pthread_mutex_lock(&journal);
    reach(1);
    while (!items)
        pthread_cond_wait(&filled, &queue); /* waits */
    written++;
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&queue);
    reach(2);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_mutex_lock(&queue);
    items = 1;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&queue);
    await(2);
    pthread_mutex_lock(&queue);
    pthread_mutex_lock(&journal); /* waits */
    written++;
    pthread_mutex_unlock(&journal);
    pthread_mutex_unlock(&queue);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

/* A reader takes a mutex, and who has the mutex wants to write. */
#include <pthread.h>
#include "../hidden_order.h"

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t journal = PTHREAD_MUTEX_INITIALIZER;
static int entries;

static void *first(void *unused)
{
    pthread_rwlock_rdlock(&table);
    pthread_mutex_lock(&journal); /* waits */
    pthread_mutex_unlock(&journal);
    pthread_rwlock_unlock(&table);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_mutex_lock(&journal);
    pthread_rwlock_wrlock(&table); /* waits */
    entries++;
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&journal);
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

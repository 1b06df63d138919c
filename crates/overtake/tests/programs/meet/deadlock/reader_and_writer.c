/* One thread reads under a reader-writer lock and then takes a mutex; the other one has the mutex and then wants to write. */
#include <pthread.h>
#include "../../hidden_order.h"

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void *reader(void *unused)
{
    pthread_rwlock_rdlock(&table);
    pthread_mutex_lock(&log_lock);
    pthread_mutex_unlock(&log_lock);
    pthread_rwlock_unlock(&table);
    reach(1);
    return unused;
}

static void *writer(void *unused)
{
    await(1);
    pthread_mutex_lock(&log_lock);
    pthread_rwlock_wrlock(&table);
    shared++;
    pthread_rwlock_unlock(&table);
    pthread_mutex_unlock(&log_lock);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, reader, 0);
    pthread_create(&threads[1], 0, writer, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

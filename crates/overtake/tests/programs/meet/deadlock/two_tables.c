/* Two reader-writer locks, each taken for writing before the other one is taken for reading. */
#include <pthread.h>
#include "../../hidden_order.h"

static pthread_rwlock_t left = PTHREAD_RWLOCK_INITIALIZER, right = PTHREAD_RWLOCK_INITIALIZER;

static void *first(void *unused)
{
    pthread_rwlock_wrlock(&left);
    pthread_rwlock_rdlock(&right);
    pthread_rwlock_unlock(&right);
    pthread_rwlock_unlock(&left);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_rwlock_wrlock(&right);
    pthread_rwlock_rdlock(&left);
    pthread_rwlock_unlock(&left);
    pthread_rwlock_unlock(&right);
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

/* A writer's section and a later reader's section order accesses outside of them. */
#include <pthread.h>
#include "../hidden_order.h"

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
int shared;

static void *first(void *unused)
{
    shared = 1; /* race */
    pthread_rwlock_wrlock(&lock);
    pthread_rwlock_unlock(&lock);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_unlock(&lock);
    shared = 2; /* race */
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

/* A thread uses a mutex that another one destroys; nothing orders the two. */
#include <pthread.h>
#include "../hidden_order.h"

pthread_mutex_t lock;

static void *use(void *unused)
{
    pthread_mutex_lock(&lock); /* race */
    pthread_mutex_unlock(&lock);
    reach(1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_mutex_init(&lock, 0);
    pthread_create(&thread, 0, use, 0);
    await(1);
    pthread_mutex_destroy(&lock); /* race */
    pthread_join(thread, 0);
    return 0;
}

/* The reader gets to its lock only after it has seen the flag, so that `data` is ordered in every run. What a read of the flag saw is
   not recorded: a race on `data` hinges on it. */
#include <pthread.h>
#include "hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int flag;
int data;
int own[4096];

static void *writer(void *unused)
{
    await(1);
    data = 1; /* ordered */
    pthread_mutex_lock(&lock);
    flag = 1; /* race */
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *reader(void *unused)
{
    reach(1);
    while (!flag) /* race */
        ;
    for (int i = 0; i < 4096; i++) /* many records: the read of the flag is merged early */
        own[i] = i;
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    (void)*(volatile int *)&data; /* ordered */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, writer, 0);
    pthread_create(&threads[1], 0, reader, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

/* Code that is not instrumented hands a new block to another thread. The lock orders the allocation before the use in this run. Nobody knows
   that the sections could come in the other order, so this is no prediction. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_pointer.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *user(void *unused)
{
    char *volatile block = take();
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    block[40] = 1;
    free(block);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
    void *block = malloc(64);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    give(block);
    pthread_join(thread, 0);
    return 0;
}

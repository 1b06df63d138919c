/* A thread writes to a block, and nothing orders the write after the allocation. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_pointer.h"

static void *writer(void *unused)
{
    char *volatile block = take();
    block[40] = 1; /* race */
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, writer, 0);
    give(malloc(64)); /* race */
    pthread_join(thread, 0);
    return 0;
}

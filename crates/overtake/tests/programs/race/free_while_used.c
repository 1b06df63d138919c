/* A block is freed by one thread and read by another with nothing between. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_order.h"

static int *block;

static void *reader(void *unused)
{
    int *mine = block;
    (void)*(volatile int *)mine; /* race */
    reach(1);
    return unused;
}

int main(void)
{
    block = calloc(4, sizeof *block);
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    await(1);
    free(block); /* race */
    pthread_join(thread, 0);
    return 0;
}

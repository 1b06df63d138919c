/* A thread writes through an old pointer: the block was freed, and the next one got its address. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_order.h"

static void *writer(void *old)
{
    await(1);
    ((volatile char *)old)[40] = 1; /* race */
    reach(2);
    return 0;
}

int main(void)
{
    pthread_t thread;
    char *volatile block = malloc(64);
    pthread_create(&thread, 0, writer, block);
    free(block), block = malloc(64); /* race */
    reach(1);
    await(2);
    pthread_join(thread, 0);
    free(block);
    return 0;
}

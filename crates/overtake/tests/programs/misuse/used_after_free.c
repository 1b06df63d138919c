/* Finds access-after-free: a block is written after another thread has freed it and was joined. */
#include <pthread.h>
#include <stdlib.h>

static void *owner(void *block)
{
    free(block); /* freed */
    return 0;
}

int main(void)
{
    volatile char *block = malloc(64);
    pthread_t thread;
    pthread_create(&thread, 0, owner, (void *)block);
    pthread_join(thread, 0);
    block[40] = 1; /* misuse */
    return 0;
}

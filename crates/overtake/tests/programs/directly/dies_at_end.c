/* A thread writes into a block that it has freed, and libc notices that when the thread has ended and is no longer recorded. */
#include <pthread.h>
#include <stdlib.h>

static long *volatile block;

static void *spoil(void *unused)
{
    block = malloc(40);
    free(block);
    *block = 42;
    __asm__ volatile("" ::: "memory");
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, spoil, 0);
    pthread_join(thread, 0);
    return 0;
}

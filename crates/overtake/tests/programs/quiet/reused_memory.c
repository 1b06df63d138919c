/* Blocks that go from thread to thread through the allocator are new each time, and so are stacks. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static void *worker(void *unused)
{
    char frame[64];
    for (int i = 0; i < 200; i++) {
        char *block = malloc(1 + i % 64);
        memset(block, i, 1 + i % 64);
        memset(frame, i, sizeof frame);
        free(block);
    }
    return unused;
}

int main(void)
{
    for (int round = 0; round < 5; round++) {
        pthread_t threads[4];
        for (int i = 0; i < 4; i++)
            pthread_create(&threads[i], 0, worker, 0);
        for (int i = 0; i < 4; i++)
            pthread_join(threads[i], 0);
    }
    return 0;
}

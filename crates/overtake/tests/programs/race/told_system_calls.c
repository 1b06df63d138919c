/* The kernel reads a buffer for one thread that another one fills. */
#define _GNU_SOURCE
#include <pthread.h>
#include "../hidden_order.h"
#include "../told_system_calls.h"

static int ends[2];
static long buffer[2];

static void *writer(void *unused)
{
    await(1);
    told_write(ends[1], buffer, sizeof buffer); /* race */
    return unused;
}

int main(void)
{
    pthread_t thread;
    pipe(ends);
    write(ends[1], "sixteen letters!", 16);
    pthread_create(&thread, 0, writer, 0);
    told_read(ends[0], buffer, sizeof buffer); /* race */
    reach(1);
    pthread_join(thread, 0);
    return 0;
}

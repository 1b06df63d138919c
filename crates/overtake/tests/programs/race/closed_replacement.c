/* A descriptor is replaced, and another thread closes it, which nothing orders: it closes the old file or the new one. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../hidden_order.h"

static int file;

static void *closer(void *unused)
{
    await(1);
    close(file); /* race */
    return unused;
}

int main(void)
{
    pthread_t thread;
    file = open("/dev/zero", O_RDONLY);
    int other = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, 0, closer, 0);
    dup2(other, file); /* race */
    reach(1);
    pthread_join(thread, 0);
    return close(other);
}

/* One thread closes a descriptor that another one reads from. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>
#include "../hidden_order.h"

static int file;

static void *use(void *unused)
{
    char byte;
    int got = (int)read(file, &byte, 1); /* race */
    reach(1);
    return got == 1 ? unused : &file;
}

int main(void)
{
    pthread_t thread;
    file = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, 0, use, 0);
    await(1);
    close(file); /* race */
    pthread_join(thread, 0);
    return 0;
}

/* A pipe orders what threads do, also if they read and write it past libc. */
#define _GNU_SOURCE
#include <pthread.h>
#include "../told_system_calls.h"

static int ends[2], data;

static void *reader(void *unused)
{
    char letter;
    while (told_read(ends[0], &letter, 1) != 1)
        ;
    data++;
    return unused;
}

int main(void)
{
    pthread_t thread;
    if (told_pipe(ends))
        return 1;
    pthread_create(&thread, 0, reader, 0);
    data = 1;
    if (told_write(ends[1], "x", 1) != 1)
        return 1;
    pthread_join(thread, 0);
    /* A call that says nothing to us. */
    __sanitizer_syscall_pre_impl_io_submit(0, 0, 0);
    __sanitizer_syscall_post_impl_io_submit(0, 0, 0, 0);
    return data != 2;
}

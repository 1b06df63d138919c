/* Finds thread-leak: nobody joins or detaches a thread that has ended. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "../hidden_order.h"

static void *end(void *unused)
{
    reach((int)syscall(SYS_gettid));
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, end, 0); /* misuse */
    await(1);
    while (syscall(SYS_tgkill, getpid(), stage(), 0) == 0)
        sched_yield();
    return 0;
}

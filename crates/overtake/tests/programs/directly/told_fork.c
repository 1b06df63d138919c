/* Children by a system call that the program tells us about, while another thread runs. Each has a log of its own. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include "../told_system_calls.h"

static int counter, end;

static void *count(void *unused)
{
    while (!__atomic_load_n(&end, __ATOMIC_RELAXED))
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, count, 0);
    for (int i = 0; i < 3; i++) {
        int status, process = told_fork();
        if (!process) {
            __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
            exit(3);
        }
        if (waitpid(process, &status, 0) != process || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
            return 1;
    }
    __atomic_store_n(&end, 1, __ATOMIC_RELAXED);
    pthread_join(thread, 0);
    return 0;
}

/* Children by `clone`, each with memory and a log of its own. One of them races with nobody and ends by `exit`, the other returns. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

static int counter;
static char stack[1 << 16] __attribute__((aligned(16)));

static int child(void *returns)
{
    for (int i = 0; i < 1000; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
    if (!returns)
        exit(counter == 1000 ? 3 : 1);
    return counter == 1000 ? 4 : 1;
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        int status, process = clone(child, stack + sizeof stack, SIGCHLD, i ? stack : 0);
        if (waitpid(process, &status, 0) != process || !WIFEXITED(status) || WEXITSTATUS(status) != 3 + i)
            return 1;
    }
    return counter;
}

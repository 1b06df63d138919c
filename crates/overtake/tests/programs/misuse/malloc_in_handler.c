/* Finds signal-unsafe-call: a signal handler allocates memory. */
#include <signal.h>
#include <stdlib.h>

static void *volatile block;

static void handler(int signal)
{
    (void)signal;
    block = malloc(10); /* misuse */
}

int main(void)
{
    struct sigaction action = {0};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    free(block);
    return 0;
}

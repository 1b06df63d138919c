/* Finds errno-in-signal: a signal handler leaves another errno. */
#include <errno.h>
#include <signal.h>

static void handler(int signal) { /* misuse */
    (void)signal;
    errno = 42;
}

int main(void)
{
    struct sigaction action = {0};
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    raise(SIGUSR1);
    return 0;
}

/* The race is reached only with the right standard input, environment and directory and after the command that comes before a run. Then the program tells its
   client by a pipe in the file system that it is ready, and ends when it is asked to. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;

static void *first(void *unused)
{
    shared = 1; /* race */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    shared = 2; /* race */
    return unused;
}

int main(void)
{
    char input[6] = "";
    sigset_t signals;
    int signal;
    pthread_t threads[2];
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, 0);
    if (read(0, input, 5) != 5 || strcmp(input, "hello") != 0)
        return 3;
    if (!getenv("OF_THE_RECORDING") || access("recorded_here", F_OK) != 0 || access("prepared", F_OK) != 0)
        return 4;
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    close(open("ready", O_WRONLY));
    return sigwait(&signals, &signal);
}

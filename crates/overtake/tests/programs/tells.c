/* The order of the two accesses decides what is written, and to which stream: the first argument. A second argument is written to standard output with a
   number that is another one in each run. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int shared;
static int stream;

static void *first(void *unused)
{
    shared = 1;
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
    dprintf(stream, "%s\n", shared ? "in time" : "too early");
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t threads[2];
    stream = count > 1 ? atoi(arguments[1]) : 1;
    if (count > 2)
        printf("%s %d\n", arguments[2], (int)getpid());
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

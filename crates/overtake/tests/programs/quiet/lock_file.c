/* A file is a lock: who creates it may go on, and removes it afterwards. */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char name[100];
static int counter;

static void *count(void *unused)
{
    for (int turn = 0; turn < 50; turn++) {
        int file;
        while ((file = open(name, O_CREAT | O_EXCL | O_WRONLY, 0600)) < 0)
            sched_yield();
        counter++;
        close(file);
        unlink(name);
    }
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    snprintf(name, sizeof name, "/tmp/lock.XXXXXX");
    close(mkstemp(name));
    unlink(name);
    for (int number = 0; number < 2; number++)
        pthread_create(&threads[number], 0, count, 0);
    for (int number = 0; number < 2; number++)
        pthread_join(threads[number], 0);
    return counter != 100;
}

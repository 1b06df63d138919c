// A thread goes on while the process ends: it waits until its log is being read, makes a million atomic operations, and says so.
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static long counter;
static char begun[4096], done[4096];

static void *go_on(void *unused) {
    while (access(begun, F_OK) != 0)
        usleep(1000);
    for (int i = 0; i < 1000000; i++)
        __atomic_fetch_add(&counter, 1, __ATOMIC_ACQ_REL);
    close(open(done, O_CREAT | O_WRONLY, 0600));
    for (;;)
        __atomic_fetch_add(&counter, 1, __ATOMIC_ACQ_REL);
    return unused;
}

int main(void) {
    snprintf(begun, sizeof begun, "%s/begun", getenv("TMPDIR"));
    snprintf(done, sizeof done, "%s/done", getenv("TMPDIR"));
    pthread_t thread;
    pthread_create(&thread, NULL, go_on, NULL);
    return 0;
}

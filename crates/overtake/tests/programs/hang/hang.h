/* Threads that wait for each other for ever; the process sends itself the signal SIGNAL once all of them sleep. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int sleepers[8];

/* From here on, the calling thread sleeps only for the lock that it takes next. */
static void will_wait(int number) { sleepers[number] = (int)syscall(SYS_gettid); }

static int sleeps(int thread) {
    char path[64], line[512], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    if (fgets(line, sizeof line, file)) sscanf(line, "%*d (%*[^)]) %c", &state);
    fclose(file);
    return state == 'S';
}

/* Ends the process when this many threads wait. */
static void end_when_they_wait(int count) {
    for (int number = 0; number < count; number++)
        while (!sleepers[number] || !sleeps(sleepers[number])) usleep(1000);
    kill(getpid(), atoi(getenv("SIGNAL")));
    for (;;) pause();
}

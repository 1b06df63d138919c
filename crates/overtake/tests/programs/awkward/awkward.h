/* What every awkward program has: some ordered work, and a race after what makes it awkward, unless QUIET is set. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;

static void *count(void *unused) {
    pthread_mutex_lock(&lock);
    counted++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static void *write_shared(void *unused) {
    shared = 1;
    return unused;
}

static int in_thread(void *(*work)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, 0, work, 0)) return 1;
    return pthread_join(thread, 0);
}

/* Two writes that nothing orders, in every run. */
static void race(void) {
    pthread_t thread;
    in_thread(count);
    count(0);
    if (getenv("QUIET")) return;
    if (pthread_create(&thread, 0, write_shared, 0)) return;
    shared = 2;
    pthread_join(thread, 0);
}

/* As root a program may do more than others. */
static inline void need_root(void) {
    if (geteuid()) {
        puts("not root");
        race();
        exit(0);
    }
}

static inline int exit_code_of(pid_t child) {
    int status = -1;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

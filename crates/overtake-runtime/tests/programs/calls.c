// `calls N M` starts N threads, M at a time. `calls count PROGRAM N M` runs another program with these arguments and prints how many system
// calls its threads make, apart from waiting for each other, which depends on who comes first.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;

static void *count(void *unused) {
    pthread_mutex_lock(&lock);
    counted++;
    pthread_mutex_unlock(&lock);
    return unused;
}

static int start_threads(int threads, int at_once) {
    pthread_t *started = calloc(at_once, sizeof *started);
    for (int done = 0; done < threads; done += at_once) {
        for (int i = 0; i < at_once; i++)
            if (pthread_create(started + i, 0, count, 0)) return 1;
        for (int i = 0; i < at_once; i++) pthread_join(started[i], 0);
    }
    return counted != threads;
}

// A stop at the entry of a call.
static int enters(pid_t thread) {
    struct __ptrace_syscall_info call;
    memset(&call, 0, sizeof call);
    ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof call, &call);
    return call.op == PTRACE_SYSCALL_INFO_ENTRY && call.entry.nr != SYS_futex;
}

static int count_calls(char **command) {
    pid_t first = fork();
    if (first == 0) {
        ptrace(PTRACE_TRACEME, 0, 0, 0);
        raise(SIGSTOP);
        execv(command[0], command);
        _exit(127);
    }
    int status;
    long calls = 0;
    waitpid(first, &status, 0);
    if (ptrace(PTRACE_SETOPTIONS, first, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE)) return perror("ptrace"), 1;
    ptrace(PTRACE_SYSCALL, first, 0, 0);
    for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
        if (!WIFSTOPPED(status)) {
            if (thread == first && status) return 1;
            continue;
        }
        calls += WSTOPSIG(status) == (SIGTRAP | 0x80) && enters(thread);
        ptrace(PTRACE_SYSCALL, thread, 0, 0);
    }
    printf("calls %ld\n", calls);
    return 0;
}

int main(int arguments, char **given) {
    if (arguments < 3) return 2;
    return strcmp(given[1], "count") ? start_threads(atoi(given[1]), atoi(given[2])) : count_calls(given + 2);
}

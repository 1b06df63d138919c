// fork in a program with threads; the child has a log of its own.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static atomic_int stop, counter;
volatile int in_parent, in_child, in_thread;
static void *busy(void *unused) { while (!stop) counter++; return 0; }
static void *child_thread(void *unused) { in_thread = 1; return 0; }
static __attribute__((noinline)) int child(void) {
    pthread_t thread;
    in_child = 1;
    for (int i = 0; i < 1000; i++) counter++; // a stripe that a thread of the parent held would block this
    pthread_create(&thread, 0, child_thread, 0);
    pthread_join(thread, 0);
    return 7;
}
int main(int count, char **arguments) {
    pthread_t threads[2];
    printf("in_parent %p\nin_child %p\nin_thread %p\n", (void *)&in_parent, (void *)&in_child, (void *)&in_thread);
    fflush(stdout);
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, busy, 0);
    for (int round = 0; round < 5; round++) {
        pid_t pid = round == 0 ? vfork() : round == 1 ? _Fork() : fork();
        if (pid == 0) {
            int code = child();
            if (round == 2) execl("/bin/sh", "sh", "-c", "exit 7", (char *)0);
            _exit(code);
        }
        int status;
        waitpid(pid, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 7) return 1;
    }
    in_parent = 1;
    stop = 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    return 0;
}

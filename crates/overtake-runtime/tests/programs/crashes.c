// Dies in the way that its argument names, after a write.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
volatile int last[1000];
static pthread_barrier_t started;
static void *hang(void *unused) { pthread_barrier_wait(&started); for (;;) pause(); return 0; }
static __attribute__((noinline)) int overflow(int depth) {
    volatile char room[1000];
    room[depth % 1000] = 1;
    return overflow(depth + 1) + room[(depth + 1) % 1000];
}
extern char **environ;
int main(int count, char **arguments) {
    const char *way = strdup(arguments[1]);
    // As programs do that show their state in the list of processes.
    char *first = environ[0], *last_byte = first;
    for (char **entry = environ; *entry; entry++) {
        last_byte = *entry + strlen(*entry);
        *entry = strdup(*entry);
    }
    memset(first, 'x', (size_t)(last_byte - first));
    pthread_t thread;
    pthread_barrier_init(&started, 0, 2);
    pthread_create(&thread, 0, hang, 0);
    pthread_barrier_wait(&started);
    printf("last %p\n", (void *)last);
    fflush(stdout);
    for (int i = 0; i < 1000; i++) last[i] = i;
    if (!strcmp(way, "kill")) raise(SIGKILL);
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "fault")) *(volatile int *)8 = 1;
    if (!strcmp(way, "overflow")) return overflow(0);
    if (!strcmp(way, "_exit")) _exit(9);
    if (!strcmp(way, "quick_exit")) quick_exit(9);
    if (!strcmp(way, "exit")) exit(9);
    if (!strcmp(way, "thread")) pthread_exit(0);
    return 1;
}

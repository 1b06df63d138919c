// A signal handler records while the program records. Every write is counted.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
static volatile long by_program, by_handler;
static atomic_long both;
static __attribute__((noinline)) void inner(int depth) {
    if (depth > 0) { inner(depth - 1); __asm__ volatile(""); return; }
    by_handler++;
    atomic_fetch_add(&both, 1);
}
// Handlers interrupt each other, but not for ever: on a busy machine they might not keep up.
static volatile int nested;
static void handler(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    if (++nested > 20) pthread_sigmask(SIG_BLOCK, &set, 0); // until this handler returns
    inner(3);
    nested--;
}
static __attribute__((noinline)) void work(int depth) {
    if (depth > 0) { work(depth - 1); __asm__ volatile(""); return; }
    by_program++;
    atomic_fetch_add(&both, 1);
}
int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGALRM, &action, 0);
    timer_t timer;
    struct sigevent event;
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGALRM;
    timer_create(CLOCK_MONOTONIC, &event, &timer);
    struct itimerspec time = {{0, 50000}, {0, 50000}};
    timer_settime(timer, 0, &time, 0);
    long rounds = 200000;
    for (long i = 0; i < rounds; i++) work(i % 5);
    memset(&time, 0, sizeof time);
    timer_settime(timer, 0, &time, 0);
    signal(SIGALRM, SIG_IGN);
    long handled = both - rounds;
    printf("by_program %p\nby_handler %p\nboth %p\nprogram %ld\nhandler %ld\n", (void *)&by_program, (void *)&by_handler, (void *)&both, rounds, handled);
    return by_handler == 0;
}

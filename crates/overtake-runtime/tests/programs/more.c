// Named semaphores, event descriptors by libc's own functions, duplicates, signal handlers, exit handlers.
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
static volatile int by_signal, at_exit;
static volatile sig_atomic_t handled;
static void on_signal(int signal) { by_signal = signal; handled = 1; }
static void on_end(void) { at_exit = 1; }
static void *other(void *unused) { raise(SIGUSR1); return unused; }
int main(void) {
    char name[64];
    snprintf(name, sizeof name, "/overtake-test-%d", (int)getpid());
    sem_t *semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 2), *again = sem_open(name, 0);
    sem_unlink(name);
    if (semaphore == SEM_FAILED || again != semaphore || sem_wait(semaphore) || sem_post(again)) return 1;
    int event = eventfd(0, 0);
    eventfd_t value;
    int copy = fcntl(event, F_DUPFD_CLOEXEC, 0);
    if (eventfd_write(copy, 7) || eventfd_read(event, &value) || value != 7) return 1;
    struct sigaction action = {.sa_handler = on_signal}, old;
    if (signal(SIGUSR1, on_signal) != SIG_DFL || sigaction(SIGUSR1, &action, &old) || old.sa_handler != on_signal) return 1;
    if (signal(SIGUSR1, on_signal) != on_signal) return 1;
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pthread_join(thread, 0);
    if (!handled) return 1;
    signal(SIGUSR1, SIG_IGN);
    raise(SIGUSR1);
    sigset_t set;
    int arrived;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    raise(SIGUSR2);
    if (sigwait(&set, &arrived) || arrived != SIGUSR2) return 1;
    atexit(on_end);
    printf("semaphore %p\nevent %d\ncopy %d\nby_signal %p\nat_exit %p\n", (void *)semaphore, event, copy, (void *)&by_signal, (void *)&at_exit);
    return 0;
}

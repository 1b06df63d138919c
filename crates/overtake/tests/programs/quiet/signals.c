/* What a signal handler reads was there before it was set up or before the signal was sent; what an exit handler reads, before
   it was registered; a named semaphore and an event descriptor hand data over. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

static int configured, sent, named, counted, left;
static volatile sig_atomic_t sum;
static sem_t *semaphore;
static int event;

static void on_signal(int signal) { (void)signal; sum = configured + sent; }
static void on_end(void) { if (left != 5) _exit(9); }

static void *waits(void *unused)
{
    sigset_t none;
    sigemptyset(&none);
    while (!sum)
        sigsuspend(&none);
    sem_wait(semaphore);
    named++;
    eventfd_t value;
    eventfd_read(event, &value);
    counted++;
    left = 5;
    atexit(on_end);
    return unused;
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof name, "/overtake-quiet-%d", (int)getpid());
    semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    sem_unlink(name);
    event = eventfd(0, 0);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &set, 0);
    pthread_t thread;
    pthread_create(&thread, 0, waits, 0);
    configured = 1;
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGUSR1, &action, 0);
    sent = 2;
    pthread_kill(thread, SIGUSR1);
    named = 3;
    sem_post(semaphore);
    counted = 4;
    eventfd_write(event, 1);
    pthread_join(thread, 0);
    return sum != 3;
}

// More instructions than brief records have numbers for, each with a variable of its own; so does a signal handler.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#define EIGHT(array, n) array[n]++; array[n + 1]++; array[n + 2]++; array[n + 3]++; array[n + 4]++; array[n + 5]++; array[n + 6]++; array[n + 7]++;
#define SIXTY_FOUR(array, n) EIGHT(array, n) EIGHT(array, n + 8) EIGHT(array, n + 16) EIGHT(array, n + 24) EIGHT(array, n + 32) EIGHT(array, n + 40) EIGHT(array, n + 48) EIGHT(array, n + 56)
#define ALL(array) SIXTY_FOUR(array, 0) SIXTY_FOUR(array, 64) SIXTY_FOUR(array, 128) SIXTY_FOUR(array, 192) SIXTY_FOUR(array, 256) SIXTY_FOUR(array, 320)
static volatile short program[384], handler[384];
static volatile int signals;
static void handle(int signal) {
    ALL(handler)
    signals++;
}
int main(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    struct itimerval often = {{0, 500}, {0, 500}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &often, 0);
    for (int round = 0; round < 3000; round++) {
        pthread_mutex_lock(&mutex);
        ALL(program)
        pthread_mutex_unlock(&mutex);
    }
    setitimer(ITIMER_REAL, &never, 0);
    printf("program %p\nhandler %p\nsignals %d\n", (void *)program, (void *)handler, signals);
    return 0;
}

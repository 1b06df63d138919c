// Threads whose values are destroyed as often as libc allows, while signals arrive.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
enum { THREADS = 200, ROUNDS = 4 };
static pthread_key_t keys[3];
static volatile int destroyed[THREADS][3][ROUNDS];
static volatile sig_atomic_t ticks;
struct value { int thread, key, round; };
static void tick(int signal) { ticks++; (void)signal; }
static void destroy(void *given) {
    struct value *value = given;
    destroyed[value->thread][value->key][value->round] = 1;
    if (++value->round < ROUNDS) pthread_setspecific(keys[value->key], value);
    else free(value);
}
static void *work(void *number) {
    for (int key = 0; key < 3; key++) {
        struct value *value = malloc(sizeof *value);
        value->thread = (int)(long)number;
        value->key = key;
        value->round = 0;
        pthread_setspecific(keys[key], value);
    }
    return 0;
}
int main(void) {
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    printf("destroyed %p\n", (void *)destroyed);
    for (int key = 0; key < 3; key++) pthread_key_create(&keys[key], destroy);
    signal(SIGPROF, tick);
    setitimer(ITIMER_PROF, &often, 0);
    for (long number = 0; number < THREADS; number++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, work, (void *)number)) return 1;
        pthread_join(thread, 0);
    }
    setitimer(ITIMER_PROF, &never, 0);
    return 0;
}

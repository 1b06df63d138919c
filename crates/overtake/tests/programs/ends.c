/* Races, then ends in the way asked for. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { crowd = 5000, held = 1000 };
int shared;
static volatile char volume[16 << 20];
static pthread_barrier_t started;

static void *racer(void *unused) { shared = 1; return unused; }

static void race(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, racer, 0);
    shared = 2;
    pthread_join(thread, 0);
}

static void *sleeper(void *unused) { pthread_barrier_wait(&started); for (;;) pause(); return unused; }

static void *visitor(void *unused) { pthread_barrier_wait(&started); return unused; }

static __attribute__((noinline)) int overflow(int depth)
{
    volatile char room[1000];
    room[depth % 1000] = 1;
    return depth < 0 ? 0 : overflow(depth + 1) + room[(depth + 1) % 1000];
}

static void gather(void)
{
    static pthread_t threads[crowd];
    static pthread_mutex_t locks[held];
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&started, 0, crowd + 1);
    for (int i = 0; i < crowd; i++)
        if (pthread_create(&threads[i], &small, visitor, 0))
            exit(3);
    pthread_barrier_wait(&started);
    for (int i = 0; i < crowd; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < held; i++)
        pthread_mutex_init(&locks[i], 0), pthread_mutex_lock(&locks[i]);
    race();
    for (int i = 0; i < held; i++)
        pthread_mutex_unlock(&locks[i]);
}

int main(int count, char **arguments)
{
    const char *way = count > 1 ? arguments[1] : "return";
    if (!strcmp(way, "many")) {
        gather();
        return 0;
    }
    if (!strcmp(way, "nothing"))
        return 0;
    pthread_t thread;
    pthread_barrier_init(&started, 0, 2);
    pthread_create(&thread, 0, sleeper, 0);
    pthread_barrier_wait(&started);
    if (!strcmp(way, "fork")) {
        if (fork() == 0) {
            race();
            _exit(0);
        }
        wait(0);
        return 0;
    }
    race();
    if (!strcmp(way, "volume"))
        for (int round = 0; round < 4; round++)
            for (int i = 0; i < (int)sizeof volume; i += 64)
                volume[i] = (char)round;
    if (!strcmp(way, "kill")) raise(SIGKILL);
    if (!strcmp(way, "abort")) abort();
    if (!strcmp(way, "fault")) *(volatile int *)8 = 1;
    if (!strcmp(way, "overflow")) return overflow(0);
    if (!strcmp(way, "_exit")) _exit(0);
    if (!strcmp(way, "exec")) execl(arguments[0], arguments[0], "nothing", (char *)0);
    if (!strcmp(way, "vfork")) {
        if (vfork() == 0)
            execl(arguments[0], arguments[0], "nothing", (char *)0);
        wait(0);
    }
    return 0;
}

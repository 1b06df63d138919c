/* A race that happens in every run, and one that only another order of the same run shows. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* Not static: the compiler would drop writes that nothing reads. */
int happens, predicted, earlier, later;
static volatile int stage;

/* An order that the recorder does not see; confirming runs without it. */
__attribute__((no_sanitize("thread"), noinline)) static void reach(void) { stage = 1; }
__attribute__((no_sanitize("thread"), noinline)) static void await(void) {
    while (!stage && !getenv("OVERTAKE_DOCTOR_UNORDERED")) sched_yield();
}

static void *first(void *unused) {
    happens = 1;
    predicted = 1;
    pthread_mutex_lock(&lock);
    earlier = 1;
    pthread_mutex_unlock(&lock);
    reach();
    return unused;
}

static void *second(void *unused) {
    await();
    pthread_mutex_lock(&lock);
    later = 1;
    pthread_mutex_unlock(&lock);
    predicted = 2;
    return unused;
}

int main(void) {
    pthread_t threads[2];
    if (pthread_create(&threads[0], 0, first, 0) || pthread_create(&threads[1], 0, second, 0)) return 1;
    happens = 2;
    pthread_join(threads[0], 0);
    return pthread_join(threads[1], 0);
}

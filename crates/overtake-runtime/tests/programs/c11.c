// C11 threads.
#include <stdio.h>
#include <threads.h>
static mtx_t mutex;
static cnd_t condition;
static once_flag once = ONCE_FLAG_INIT;
static int ready;
static void initialise(void) { ready = 0; }
static int run(void *argument) {
    call_once(&once, initialise);
    mtx_lock(&mutex);
    while (!ready) cnd_wait(&condition, &mutex);
    mtx_unlock(&mutex);
    return 42;
}
int main(void) {
    thrd_t thread;
    int result;
    mtx_init(&mutex, mtx_plain);
    cnd_init(&condition);
    call_once(&once, initialise);
    printf("mutex %p\ncondition %p\nonce %p\n", (void *)&mutex, (void *)&condition, (void *)&once);
    if (thrd_create(&thread, run, 0) != thrd_success) return 1;
    mtx_lock(&mutex);
    ready = 1;
    cnd_broadcast(&condition);
    mtx_unlock(&mutex);
    if (thrd_join(thread, &result) != thrd_success || result != 42) return 1;
    if (mtx_trylock(&mutex) != thrd_success) return 1;
    mtx_unlock(&mutex);
    mtx_destroy(&mutex);
    cnd_destroy(&condition);
    return 0;
}

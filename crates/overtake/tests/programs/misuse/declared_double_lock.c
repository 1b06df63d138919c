/* Finds double-lock: the program declares a lock of its own and says that it was taken twice. */
#include <pthread.h>

void __tsan_mutex_create(void *lock, unsigned flags);
void __tsan_mutex_pre_lock(void *lock, unsigned flags);
void __tsan_mutex_post_lock(void *lock, unsigned flags, int recursion);

static int lock;

static void *take(void *unused)
{
    __tsan_mutex_pre_lock(&lock, 0);
    __tsan_mutex_post_lock(&lock, 0, 0); /* misuse */
    return unused;
}

int main(void)
{
    pthread_t thread;
    __tsan_mutex_create(&lock, 0);
    __tsan_mutex_pre_lock(&lock, 0);
    __tsan_mutex_post_lock(&lock, 0, 0);
    pthread_create(&thread, 0, take, 0);
    pthread_join(thread, 0);
    return 0;
}

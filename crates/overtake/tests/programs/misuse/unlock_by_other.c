/* Finds unlock-by-other: one thread takes a mutex and another one gives it back. */
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *give_back(void *unused)
{
    pthread_mutex_unlock(&lock); /* misuse */
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_mutex_lock(&lock);
    pthread_create(&thread, 0, give_back, 0);
    pthread_join(thread, 0);
    return 0;
}

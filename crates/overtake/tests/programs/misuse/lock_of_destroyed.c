/* Finds use-of-destroyed: a mutex is taken after it was destroyed. */
#include <pthread.h>

pthread_mutex_t lock;

int main(void)
{
    pthread_mutex_init(&lock, 0);
    pthread_mutex_destroy(&lock);
    pthread_mutex_lock(&lock); /* misuse */
    return 0;
}

/* Finds destroy-of-locked: a mutex is destroyed by the thread that holds it. */
#include <pthread.h>
#include <stdlib.h>

int main(void)
{
    pthread_mutex_t *lock = malloc(sizeof *lock);
    pthread_mutex_init(lock, 0);
    pthread_mutex_lock(lock);
    pthread_mutex_destroy(lock); /* misuse */
    free(lock);
    return 0;
}

/* Finds double-lock: a mutex that checks for errors refuses to be taken twice. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>

pthread_mutex_t lock = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

int main(void)
{
    pthread_mutex_lock(&lock);
    int result = pthread_mutex_lock(&lock); /* misuse */
    pthread_mutex_unlock(&lock);
    return result != EDEADLK;
}

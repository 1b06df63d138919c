/* Finds destroy-of-locked: a rwlock is destroyed while it is held shared. */
#include <pthread.h>

int main(void)
{
    pthread_rwlock_t lock;
    pthread_rwlock_init(&lock, 0);
    pthread_rwlock_rdlock(&lock);
    pthread_rwlock_destroy(&lock); /* misuse */
    return 0;
}

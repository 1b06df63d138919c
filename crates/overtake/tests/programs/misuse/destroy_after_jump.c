/* Finds destroy-of-locked: a jump leaves the function that holds a mutex, which is destroyed then. */
#include <pthread.h>
#include <setjmp.h>

static jmp_buf place;

static void take_and_leave(pthread_mutex_t *lock)
{
    pthread_mutex_lock(lock);
    longjmp(place, 1);
}

int main(void)
{
    pthread_mutex_t lock;
    pthread_mutex_init(&lock, 0);
    if (setjmp(place) == 0)
        take_and_leave(&lock);
    pthread_mutex_destroy(&lock); /* misuse */
    return 0;
}

/* Finds lock-held: the program says that no lock is held where one is. */
#include <pthread.h>

void __tsan_check_no_mutexes_held(void);

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int main(void)
{
    __tsan_check_no_mutexes_held();
    pthread_mutex_lock(&lock);
    __tsan_check_no_mutexes_held(); /* misuse */
    pthread_mutex_unlock(&lock);
    return 0;
}

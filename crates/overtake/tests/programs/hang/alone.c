/* A thread that waits for itself. */
#include "hang.h"
static pthread_mutex_t account = PTHREAD_MUTEX_INITIALIZER;
static int balance;
static void *deposit_twice(void *unused) {
    pthread_mutex_lock(&account);
    balance++;
    will_wait(0);
    pthread_mutex_lock(&account);
    balance++;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, deposit_twice, 0);
    end_when_they_wait(1);
}

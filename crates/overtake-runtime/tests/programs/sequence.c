// One thread after the other.
#include <pthread.h>
#include <stdio.h>
enum { THREADS = 50000 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int counted;
static void *count(void *unused) {
    pthread_mutex_lock(&lock);
    counted++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, count, 0)) return 1;
        pthread_join(thread, 0);
    }
    printf("counted %d\n", counted);
    return 0;
}

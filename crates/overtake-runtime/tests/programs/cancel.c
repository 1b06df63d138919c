// Cancelling a thread that waits.
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t waiting, never;
volatile int cleaned;
static void unlock(void *unused) { cleaned = 1; pthread_mutex_unlock(&mutex); }
static void *wait_for_condition(void *unused) {
    pthread_mutex_lock(&mutex);
    pthread_cleanup_push(unlock, 0);
    sem_post(&waiting);
    for (;;) pthread_cond_wait(&condition, &mutex);
    pthread_cleanup_pop(0);
    return 0;
}
static void *wait_for_semaphore(void *unused) { sem_post(&waiting); sem_wait(&never); return 0; }
int main(void) {
    void *(*routines[])(void *) = {wait_for_condition, wait_for_semaphore};
    printf("mutex %p\ncleaned %p\n", (void *)&mutex, (void *)&cleaned);
    sem_init(&waiting, 0, 0);
    sem_init(&never, 0, 0);
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        void *result;
        pthread_create(&thread, 0, routines[i], 0);
        sem_wait(&waiting);
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        if (result != PTHREAD_CANCELED) return 1;
    }
    return !cleaned;
}

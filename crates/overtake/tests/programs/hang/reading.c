/* A reader that waits for a mutex, and a writer that holds it. */
#include "hang.h"
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int rows;
static void *read_table(void *unused) {
    pthread_rwlock_rdlock(&table);
    pthread_barrier_wait(&both);
    will_wait(0);
    pthread_mutex_lock(&queue);
    rows++;
    return unused;
}
static void *write_table(void *unused) {
    pthread_mutex_lock(&queue);
    pthread_barrier_wait(&both);
    will_wait(1);
    pthread_rwlock_wrlock(&table);
    rows--;
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, 0, 2);
    pthread_create(threads, 0, read_table, 0);
    pthread_create(threads + 1, 0, write_table, 0);
    end_when_they_wait(2);
}

// Hammers hand-offs of a mutex and a spin lock between threads.
#include <pthread.h>
#include <stdio.h>
enum { THREADS = 2, ROUNDS = 150000 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_spinlock_t spin;
static int counter;
static void *run(void *unused) {
    for (int round = 0; round < ROUNDS; round++) {
        pthread_spin_lock(&spin);
        counter++;
        pthread_spin_unlock(&spin);
        pthread_mutex_lock(&mutex);
        counter++;
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}
int main(void) {
    pthread_t threads[THREADS];
    pthread_spin_init(&spin, 0);
    printf("mutex %p\nspin %p\n", (void *)&mutex, (void *)&spin);
    for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], 0, run, 0);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], 0);
    return 0;
}

#include "hang.h"
static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static int moved;
static void *to_the_right(void *unused) {
    pthread_mutex_lock(&left);
    pthread_barrier_wait(&both);
    will_wait(0);
    pthread_mutex_lock(&right);
    moved++;
    return unused;
}
static void *to_the_left(void *unused) {
    pthread_mutex_lock(&right);
    pthread_barrier_wait(&both);
    will_wait(1);
    pthread_mutex_lock(&left);
    moved--;
    return unused;
}
int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, 0, 2);
    pthread_create(threads, 0, to_the_right, 0);
    pthread_create(threads + 1, 0, to_the_left, 0);
    end_when_they_wait(2);
}

// A bounded queue: one thread makes messages, one takes and reads them. -DPART=8 makes it do about an eighth of the work.
#ifndef PART
#define PART 1
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { ROOM = 64, MESSAGES = 150000 / PART, LENGTH = 256 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned char *queue[ROOM];
static int filled, first;
static void *make(void *unused) {
    for (int i = 0; i < MESSAGES; i++) {
        unsigned char *message = malloc(LENGTH);
        for (int j = 0; j < LENGTH; j++) message[j] = (unsigned char)(i + j);
        pthread_mutex_lock(&mutex);
        while (filled == ROOM) pthread_cond_wait(&changed, &mutex);
        queue[(first + filled++) % ROOM] = message;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}
static void *take(void *unused) {
    long sum = 0;
    for (int i = 0; i < MESSAGES; i++) {
        pthread_mutex_lock(&mutex);
        while (filled == 0) pthread_cond_wait(&changed, &mutex);
        unsigned char *message = queue[first];
        first = (first + 1) % ROOM;
        filled--;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&mutex);
        for (int j = 0; j < LENGTH; j++) sum += message[j];
        free(message);
    }
    return (void *)sum;
}
int main(void) {
    pthread_t threads[2];
    void *sum;
    pthread_create(&threads[0], 0, make, 0);
    pthread_create(&threads[1], 0, take, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], &sum);
    printf("%ld\n", (long)sum);
    return 0;
}

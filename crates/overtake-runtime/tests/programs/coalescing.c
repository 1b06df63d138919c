// Repeated accesses, of which some are recorded.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
volatile int read_often, written_once, written_often;
int main(void) {
    printf("read_often %p\nwritten_once %p\nwritten_often %p\n", (void *)&read_often, (void *)&written_once, (void *)&written_often);
    for (int region = 0; region < 3; region++) {
        pthread_mutex_lock(&mutex);
        for (int i = 0; i < 100; i++) {
            if (read_often > 1) return 1;
            written_often = i;
        }
        written_once = region;
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}

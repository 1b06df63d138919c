#include "awkward.h"
#define MUTEXES 1000000
int main(void) {
    pthread_mutex_t *mutexes = malloc(MUTEXES * sizeof *mutexes);
    for (int i = 0; i < MUTEXES; i++) pthread_mutex_init(&mutexes[i], 0);
    for (int i = 0; i < MUTEXES; i++) {
        pthread_mutex_lock(&mutexes[i]);
        counted++;
        pthread_mutex_unlock(&mutexes[i]);
    }
    for (int i = 0; i < MUTEXES; i++) pthread_mutex_destroy(&mutexes[i]);
    free(mutexes);
    printf("%d\n", counted);
    race();
    return 0;
}

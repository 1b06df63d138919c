/* Many threads: teams of short threads, one team after the other. Each thread adds up its part of what the team before left, and then counts under a lock. */
#include "crew.h"

#define TEAM 16
#define PIECE 64

static long parts[2][TEAM][PIECE], total;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long round_number;

static void *work(void *at) {
    long number = (long)at, sum = 0, old = round_number % 2;
    for (int place = 0; place < PIECE; place++) sum += parts[old][(number + place) % TEAM][place];
    for (int place = 0; place < PIECE; place++) parts[1 - old][number][place] = sum % 1000 + place;
    pthread_mutex_lock(&lock);
    total += sum % 1000;
    pthread_mutex_unlock(&lock);
    return 0;
}

int main(int argc, char **argv) {
    crew(argc, argv, 200);
    for (round_number = 0; round_number < size; round_number++) {
        pthread_t team[TEAM];
        for (long number = 0; number < TEAM; number++)
            if (pthread_create(&team[number], 0, work, (void *)number)) return 1;
        for (int number = 0; number < TEAM; number++) pthread_join(team[number], 0);
    }
    printf("%ld\n", total);
}

/* Hand-overs as fast as they go, through every kind of object: an inversion of stamps would make the trace ill formed. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { threads = 4, rounds = 3000 };
static pthread_mutex_t mutexes[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t tokens;
static atomic_int counter;
static int guarded[4];
static char *blocks[2];

static void *worker(void *number)
{
    unsigned seed = (unsigned)(long)number;
    for (int i = 0; i < rounds; i++) {
        int which = rand_r(&seed) % 2;
        pthread_mutex_lock(&mutexes[which]);
        guarded[which]++;
        free(blocks[which]);
        blocks[which] = calloc(1, 24);
        blocks[which][i % 24] = 1;
        pthread_mutex_unlock(&mutexes[which]);
        if (i % 4) {
            pthread_rwlock_rdlock(&rwlock);
            guarded[3] += 0 * guarded[2];
        } else {
            pthread_rwlock_wrlock(&rwlock);
            guarded[2]++;
        }
        pthread_rwlock_unlock(&rwlock);
        pthread_spin_lock(&spin);
        guarded[3]++;
        pthread_spin_unlock(&spin);
        sem_wait(&tokens);
        atomic_fetch_add(&counter, 1);
        sem_post(&tokens);
    }
    return 0;
}

int main(void)
{
    pthread_t all[threads];
    pthread_spin_init(&spin, 0);
    sem_init(&tokens, 0, 2);
    for (long i = 0; i < threads; i++)
        pthread_create(&all[i], 0, worker, (void *)i);
    for (int i = 0; i < threads; i++)
        pthread_join(all[i], 0);
    free(blocks[0]);
    free(blocks[1]);
    return atomic_load(&counter) != threads * rounds;
}

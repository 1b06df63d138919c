/* Three threads take three mutexes in a circle, one thread after the other. */
#include <pthread.h>
#include "../../hidden_order.h"

static pthread_mutex_t locks[3] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
int shared;

static void take(int first, int second)
{
    await(first);
    pthread_mutex_lock(&locks[first]);
    pthread_mutex_lock(&locks[second]);
    pthread_mutex_unlock(&locks[second]);
    pthread_mutex_unlock(&locks[first]);
    reach(first + 1);
}

static void *one(void *unused) { take(0, 1); return unused; }
static void *two(void *unused) { take(1, 2); return unused; }
static void *three(void *unused) { take(2, 0); return unused; }

int main(void)
{
    pthread_t threads[3];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, two, 0);
    pthread_create(&threads[2], 0, three, 0);
    for (int at = 0; at < 3; at++)
        pthread_join(threads[at], 0);
    return 0;
}

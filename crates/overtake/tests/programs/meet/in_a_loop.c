/* Both threads write many slots, each at one instruction, too often to be held each time. One slot is written by both; an unrelated critical section
   hides that. */
#include <pthread.h>
#include "../hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int slots[2000];

static void *first(void *unused)
{
    for (int at = 0; at < 1000; at++)
        slots[at] = 1; /* race */
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
    for (int at = 1000; at < 1500; at++)
        slots[at == 1300 ? 700 : at] = 2; /* race */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

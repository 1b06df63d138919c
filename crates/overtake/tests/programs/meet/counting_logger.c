/* The logger counts its lines, so that the second section reads what the first one wrote. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int lines;
int shared;

static void log_line(void)
{
    pthread_mutex_lock(&lock);
    lines++;
    pthread_mutex_unlock(&lock);
}

static void *first(void *unused)
{
    shared = 1; /* race */
    log_line();
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    log_line();
    shared = 2; /* race */
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

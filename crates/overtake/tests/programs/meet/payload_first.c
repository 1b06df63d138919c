/* Double-checked locking that reads the payload before it looks at what the check found. */
#include <pthread.h>
#include <stdatomic.h>
#include "../hidden_order.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int is_set;
int payload;

static int get(void)
{
    int ready = atomic_load_explicit(&is_set, memory_order_acquire);
    int value = payload; /* race */
    if (!ready) {
        pthread_mutex_lock(&lock);
        if (!atomic_load_explicit(&is_set, memory_order_relaxed)) {
            payload = 42; /* race */
            atomic_store_explicit(&is_set, 1, memory_order_release);
        }
        value = payload;
        pthread_mutex_unlock(&lock);
    }
    return value;
}

static void *first(void *result)
{
    *(int *)result = get();
    reach(1);
    return 0;
}

static void *second(void *result)
{
    await(1);
    *(int *)result = get();
    return 0;
}

int main(void)
{
    pthread_t threads[2];
    int results[2];
    pthread_create(&threads[0], 0, first, &results[0]);
    pthread_create(&threads[1], 0, second, &results[1]);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return results[0] == results[1] ? 0 : 1;
}

/* A heap with a collector. It moves an object with its lock while a thread holds it; what is not moved stays protected by this lock. Objects at
   their new place have nothing to do with what was done to them before. A finalizer comes after everything, because the
   collector starts it. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_order.h"
#include "../managed_heap.h"

static long heap[1 << 12];
static int elsewhere;

static void *mutator(void *unused)
{
    await(1);
    __tsan_java_mutex_lock((managed)(heap + 66));
    elsewhere++;
    *(int *)(heap + 64) = 2;
    __tsan_java_mutex_unlock((managed)(heap + 66));
    *(int *)(heap + 200) = 1;
    reach(2);
    return unused;
}

static void *finalizer(void *unused)
{
    await_always(3);
    __tsan_java_finalize();
    *(int *)(heap + 300) = 2;
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    __tsan_java_init((managed)heap, sizeof heap);
    __tsan_java_alloc((managed)heap, 64);
    __tsan_java_alloc((managed)(heap + 300), 64);
    pthread_create(&threads[0], 0, mutator, 0);
    pthread_create(&threads[1], 0, finalizer, 0);
    __tsan_java_mutex_lock((managed)(heap + 2));
    __tsan_java_mutex_lock((managed)(heap + 2));
    *(int *)heap = 1;
    *(int *)(heap + 100) = 1;
    elsewhere++;
    __tsan_java_move((managed)heap, (managed)(heap + 64), 64);
    managed found = (managed)heap;
    if (__tsan_java_find(&found, (managed)(heap + 4000)) != 64 || found != (managed)(heap + 64))
        return 1;
    elsewhere++;
    if (__tsan_java_mutex_unlock_rec((managed)(heap + 66)) != 2)
        return 2;
    reach(1);
    await(2);
    __tsan_java_mutex_lock_rec((managed)(heap + 66), 2);
    elsewhere++;
    __tsan_java_mutex_unlock_rec((managed)(heap + 66));
    *(int *)(heap + 300) = 1;
    reach(3);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    __tsan_java_free((managed)(heap + 64), 64);
    return __tsan_java_fini();
}

/* Two threads write an object of a managed heap. */
#include <pthread.h>
#include "../hidden_order.h"
#include "../managed_heap.h"

static long heap[1 << 12];

static void *writer(void *unused)
{
    *(int *)(heap + 64) = 1; /* race */
    reach(1);
    return unused;
}

int main(void)
{
    pthread_t thread;
    __tsan_java_init((managed)heap, sizeof heap);
    __tsan_java_alloc((managed)heap, 64);
    *(int *)heap = 0;
    __tsan_java_move((managed)heap, (managed)(heap + 64), 64);
    pthread_create(&thread, 0, writer, 0);
    await(1);
    *(int *)(heap + 64) = 2; /* race */
    pthread_join(thread, 0);
    __tsan_java_free((managed)(heap + 64), 64);
    return 0;
}

#include "awkward.h"
static int __attribute__((noinline)) down(int levels) {
    volatile int here = levels;
    return here == 0 ? 0 : down(levels - 1) + 1;
}
static void *dive(void *result) {
    *(int *)result = down(200000);
    return 0;
}
int main(void) {
    pthread_attr_t large;
    pthread_t thread;
    int depth = 0;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, 256 << 20);
    if (pthread_create(&thread, &large, dive, &depth)) return 1;
    pthread_join(thread, 0);
    printf("%d\n", depth);
    race();
    return 0;
}

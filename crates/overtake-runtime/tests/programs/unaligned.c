// Unaligned accesses by name, second names of interposed functions, and a barrier that orders nothing.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
uint16_t __sanitizer_unaligned_load16(const void *at);
void __sanitizer_unaligned_store32(void *at, uint32_t value);
void *__interceptor_malloc(size_t bytes);
void __interceptor_free(void *block);
void __tsan_testonly_barrier_init(unsigned *barrier, unsigned count);
void __tsan_testonly_barrier_wait(unsigned *barrier);
size_t __tsan_testonly_shadow_stack_current_size(void);
static char bytes[64] __attribute__((aligned(64)));
static struct { unsigned barrier, after; } pair = {0, ~0u};
static void *meet(void *unused) {
    for (int round = 0; round < 3; round++) __tsan_testonly_barrier_wait(&pair.barrier);
    return unused;
}
__attribute__((noinline)) static size_t inner(void) {
    size_t depth = __tsan_testonly_shadow_stack_current_size();
    __asm__ volatile("");
    return depth;
}
int main(void) {
    pthread_t thread;
    __sanitizer_unaligned_store32(bytes + 5, 7);
    if (__sanitizer_unaligned_load16(bytes + 21) != 0) return 1;
    void *block = __interceptor_malloc(48);
    printf("bytes %p\nbarrier %p\nblock %p\n", (void *)bytes, (void *)&pair.barrier, block);
    __interceptor_free(block);
    __tsan_testonly_barrier_init(&pair.barrier, 300);
    if (pair.barrier != 300) return 3;
    __tsan_testonly_barrier_init(&pair.barrier, 2);
    if (pthread_create(&thread, 0, meet, 0)) return 1;
    meet(0);
    pthread_join(thread, 0);
    if (pair.after != ~0u) return 4;
    size_t here = __tsan_testonly_shadow_stack_current_size();
    return inner() == here + 1 && __tsan_testonly_shadow_stack_current_size() == here ? 0 : 2;
}

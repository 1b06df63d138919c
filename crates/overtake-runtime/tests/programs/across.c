// Accesses of 16 bytes with an alignment of 8, as clang makes them of two words, may cross from one cache line to the next.
#include <stdio.h>
void __tsan_read8(void *address);
void __tsan_read16(void *address);
void __tsan_write8(void *address);
void __tsan_write16(void *address);
static char area[4096] __attribute__((aligned(64)));
__attribute__((no_sanitize_thread)) int main(void) {
    __tsan_read8(area + 56);
    __tsan_read16(area + 56);
    __tsan_read8(area + 64);
    __tsan_write8(area + 1080);
    __tsan_write8(area + 1080);
    __tsan_write16(area + 1080);
    __tsan_write16(area + 1080);
    printf("read %p\nwritten %p\n", (void *)(area + 56), (void *)(area + 1080));
    return 0;
}

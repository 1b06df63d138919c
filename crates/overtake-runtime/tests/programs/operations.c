// Every atomic operation on every size computes what it should.
#include <stdio.h>
#include <string.h>
#define CHECK(condition) do { if (!(condition)) { printf("line %d: %s\n", __LINE__, #condition); return 1; } } while (0)
#define SIZES(type) do { \
    static type x; type expected; \
    __atomic_store_n(&x, 5, __ATOMIC_RELEASE); \
    CHECK(__atomic_load_n(&x, __ATOMIC_ACQUIRE) == 5); \
    CHECK(__atomic_exchange_n(&x, 6, __ATOMIC_ACQ_REL) == 5); \
    CHECK(__atomic_fetch_add(&x, 3, __ATOMIC_RELAXED) == 6); \
    CHECK(__atomic_fetch_sub(&x, 2, __ATOMIC_SEQ_CST) == 9); \
    CHECK(__atomic_fetch_and(&x, 6, __ATOMIC_SEQ_CST) == 7); \
    CHECK(__atomic_fetch_or(&x, 9, __ATOMIC_SEQ_CST) == 6); \
    CHECK(__atomic_fetch_xor(&x, 1, __ATOMIC_SEQ_CST) == 15); \
    CHECK(__atomic_fetch_nand(&x, 3, __ATOMIC_SEQ_CST) == 14); \
    CHECK(__atomic_load_n(&x, __ATOMIC_SEQ_CST) == (type)~(type)2); \
    expected = 1; \
    CHECK(!__atomic_compare_exchange_n(&x, &expected, 7, 0, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
    CHECK(expected == (type)~(type)2); \
    CHECK(__atomic_compare_exchange_n(&x, &expected, 7, 1, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
    CHECK(__sync_val_compare_and_swap(&x, 7, 8) == 7); \
    CHECK(x == 8); \
} while (0)
// Compilers call these only if an option says that the processor has them.
typedef unsigned __int128 value;
value __tsan_atomic128_load(value *, int);
void __tsan_atomic128_store(value *, value, int);
value __tsan_atomic128_exchange(value *, value, int);
value __tsan_atomic128_fetch_add(value *, value, int);
value __tsan_atomic128_fetch_sub(value *, value, int);
value __tsan_atomic128_fetch_and(value *, value, int);
value __tsan_atomic128_fetch_or(value *, value, int);
value __tsan_atomic128_fetch_xor(value *, value, int);
value __tsan_atomic128_fetch_nand(value *, value, int);
int __tsan_atomic128_compare_exchange_strong(value *, value *, value, int, int);
int __tsan_atomic128_compare_exchange_weak(value *, value *, value, int, int);
value __tsan_atomic128_compare_exchange_val(value *, value, value, int, int);
static int wide(void) {
    static value x __attribute__((aligned(16)));
    value big = ((value)0x123456789abcdef0 << 64) | 0xfedcba9876543210, expected = 1;
    __tsan_atomic128_store(&x, big, 3);
    CHECK(__tsan_atomic128_load(&x, 2) == big);
    CHECK(__tsan_atomic128_exchange(&x, big + 1, 5) == big);
    CHECK(__tsan_atomic128_fetch_add(&x, big, 5) == big + 1);
    CHECK(__tsan_atomic128_fetch_sub(&x, big, 5) == big + big + 1);
    CHECK(__tsan_atomic128_fetch_and(&x, ~(value)1, 5) == big + 1);
    CHECK(__tsan_atomic128_fetch_or(&x, 7, 5) == big);
    CHECK(__tsan_atomic128_fetch_xor(&x, 7, 5) == (big | 7));
    CHECK(__tsan_atomic128_fetch_nand(&x, 0, 5) == big);
    CHECK(__tsan_atomic128_load(&x, 5) == ~(value)0);
    CHECK(!__tsan_atomic128_compare_exchange_strong(&x, &expected, big, 5, 0));
    CHECK(expected == ~(value)0);
    CHECK(__tsan_atomic128_compare_exchange_weak(&x, &expected, big, 5, 0));
    CHECK(__tsan_atomic128_compare_exchange_val(&x, big, 9, 5, 0) == big);
    CHECK(__tsan_atomic128_compare_exchange_val(&x, big, 8, 5, 0) == 9);
    CHECK(x == 9);
    return 0;
}
int main(void) {
    SIZES(unsigned char);
    SIZES(unsigned short);
    SIZES(unsigned int);
    SIZES(unsigned long);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return wide();
}

// A runtime that does nothing, to measure the cost of the calls alone. Built without instrumentation.
#define NOTHING(name) void __tsan_##name(void) {}
#define SIZES(name) NOTHING(name##1) NOTHING(name##2) NOTHING(name##4) NOTHING(name##8) NOTHING(name##16)
SIZES(read) SIZES(write) SIZES(unaligned_read) SIZES(unaligned_write) SIZES(read_write) SIZES(unaligned_read_write)
SIZES(volatile_read) SIZES(volatile_write)
NOTHING(init) NOTHING(func_entry) NOTHING(func_exit) NOTHING(read_range) NOTHING(write_range)
NOTHING(vptr_update) NOTHING(vptr_read)
// Newer compilers call these functions instead of expanding them or calling libc.
#include <string.h>
void *__tsan_memset(void *to, int value, size_t length) { return memset(to, value, length); }
void *__tsan_memcpy(void *to, const void *from, size_t length) { return memcpy(to, from, length); }
void *__tsan_memmove(void *to, const void *from, size_t length) { return memmove(to, from, length); }

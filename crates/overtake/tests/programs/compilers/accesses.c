/* Functions whose names say what they do to memory that threads may share: r, w, rw, and how. */
#include <string.h>

typedef float vector16 __attribute__((vector_size(16)));
typedef float vector32 __attribute__((vector_size(32)));
typedef float vector64 __attribute__((vector_size(64)));
struct large { char bytes[100]; } large_from, large_to;
struct small { long first, second; char third; } small_from, small_to;
struct bits { unsigned few : 3, more : 13; unsigned long many : 40; } bits;
vector16 from16, to16;
vector32 from32, to32;
vector64 from64, to64;
long double long_from, long_to;
_Complex double complex_from, complex_to;
__int128 wide_from, wide_to;
int ints_from[4096], ints_to[4096], number;
float floats_from[4096], floats_to[4096];
char text[256], other_text[256];

void rw_increment(void) { number++; }
void rw_vector16(void) { to16 = from16; }
void rw_vector32(void) { to32 = from32; }
void rw_vector64(void) { to64 = from64; }
void rw_long_double(void) { long_to = long_from; }
void rw_complex(void) { complex_to = complex_from; }
void rw_int128(void) { wide_to = wide_from; }
void rw_loop(void) { for (int i = 0; i < 4096; i++) floats_to[i] += floats_from[i]; }
void rw_copying_loop(void) { for (int i = 0; i < 4096; i++) ints_to[i] = ints_from[i]; }
void w_clearing_loop(void) { for (int i = 0; i < 4096; i++) ints_to[i] = 0; }
void rw_loop_with_condition(void) { for (int i = 0; i < 4096; i++) if (ints_from[i] > 3) ints_to[i] = ints_from[i]; }
void w_loop_with_index(void) { for (int i = 0; i < 4096; i++) floats_to[ints_from[i] & 4095] = 1; }
void rw_memcpy(void) { memcpy(text, other_text, 24); }
void rw_memmove(void) { memmove(text, text + 3, 24); }
void w_memset(void) { memset(text, 0, 24); }
int r_memcmp(void) { return memcmp(text, other_text, 8) == 0; }
void w_strcpy(void) { strcpy(text, "some text"); }
unsigned long r_strlen(void) { return strlen(text); }
int r_strcmp(void) { return strcmp(text, "some text"); }
void rw_large_structure(void) { large_to = large_from; }
void rw_small_structure(void) { small_to = small_from; }
void w_cleared_structure(void) { large_to = (struct large){0}; }
void w_bits(void) { bits.more = 5; }
struct large r_returned_structure(void) { return large_from; }
void take(struct large);
void r_passed_structure(void) { take(large_from); }
void w_named_builtin(void) { __builtin_memset(text, 0, 24); }

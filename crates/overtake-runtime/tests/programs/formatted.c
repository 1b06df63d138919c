// Formatted text with arguments of every kind, in registers and on the stack.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static _Alignas(64) char first[256], second[64], third[64], fourth[64], fifth[64], sixth[64];
// What <stdio.h> calls with _FORTIFY_SOURCE.
int __sprintf_chk(char *, int, size_t, const char *, ...), __snprintf_chk(char *, size_t, int, size_t, const char *, ...);
int __printf_chk(int, const char *, ...), __fprintf_chk(FILE *, int, const char *, ...);
int __vsnprintf_chk(char *, size_t, int, size_t, const char *, va_list);
static int fortified_list(char *to, size_t room, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = __vsnprintf_chk(to, room, 1, room, format, list);
    va_end(list);
    return result;
}
static int with_list(char *to, size_t room, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int result = vsnprintf(to, room, format, list);
    va_end(list);
    return result;
}
int main(void) {
    int ends[2];
    char line[64];
    if (sprintf(first, "%d %s %g %ld %Lg %c|%g %g %g %g %g %g %g %g %g|%d %d %d %d", 1, "two", 3.5, 4L, 5.25L, '6', .5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 7, 8, 9, 10) != 63) return 1;
    if (strcmp(first, "1 two 3.5 4 5.25 6|0.5 1.5 2.5 3.5 4.5 5.5 6.5 7.5 8.5|7 8 9 10")) return 2;
    if (snprintf(second, 8, "%s and %d", "cut", 12345) != 13 || strcmp(second, "cut and")) return 3;
    if (with_list(third, sizeof third, "%d%g", 4, .5) != 4 || strcmp(third, "40.5")) return 4;
    if (pipe(ends) || dprintf(ends[1], "%d %g", 1, .5) != 5 || read(ends[0], line, 64) != 5 || memcmp(line, "1 0.5", 5)) return 5;
    FILE *to = fdopen(ends[1], "w");
    setvbuf(to, 0, _IONBF, 0);
    if (fprintf(to, "%s", "text") != 4 || read(ends[0], line, 64) != 4 || memcmp(line, "text", 4)) return 6;
    if (__sprintf_chk(fourth, 1, 64, "%d %s %g %d %d", 1, "two", 3.5, 4, 5) != 13 || strcmp(fourth, "1 two 3.5 4 5")) return 7;
    if (__snprintf_chk(fifth, 8, 1, 64, "%d %s %g %d %d", 1, "two", 3.5, 4, 5) != 13 || strcmp(fifth, "1 two 3")) return 8;
    if (fortified_list(sixth, 64, "%d%g", 4, .5) != 4 || strcmp(sixth, "40.5")) return 9;
    if (__printf_chk(1, "one %d\n", 12) != 7 || __fprintf_chk(stdout, 1, "two %d %g\n", 12, .5) != 11) return 10;
    printf("fourth %p\nfifth %p\nsixth %p\n", (void *)fourth, (void *)fifth, (void *)sixth);
    printf("first %p\nsecond %p\nthird %p\npipe_in %d\npipe_out %d\n", (void *)first, (void *)second, (void *)third, ends[0], ends[1]);
    return 0;
}

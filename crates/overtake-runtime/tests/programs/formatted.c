// Formatted text with arguments of every kind, in registers and on the stack.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static _Alignas(64) char first[256], second[64], third[64];
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
    printf("first %p\nsecond %p\nthird %p\npipe_in %d\npipe_out %d\n", (void *)first, (void *)second, (void *)third, ends[0], ends[1]);
    return 0;
}

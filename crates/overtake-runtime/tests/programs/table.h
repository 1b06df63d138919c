/* For programs that call functions of libc and print what each reads and writes: `function read|write address bytes`. */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    const char *function, *what;
    const void *address;
    size_t bytes;
};
static struct row rows[500];
static int count;

/* The rows are printed at the end, so that printing is not recorded in between. */
__attribute__((no_sanitize("thread"))) static void row(const char *function, const char *what, const void *address, size_t bytes)
{
    rows[count++] = (struct row){function, what, address, bytes};
}
/* What follows is recorded even if it repeats earlier accesses: repetitions are left out only between two synchronisations. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void anew(void)
{
    pthread_mutex_lock(&lock);
    pthread_mutex_unlock(&lock);
}
#define READS(function, address, bytes) row(#function, "read", address, bytes)
#define WRITES(function, address, bytes) row(#function, "write", address, bytes)
/* A place of its own for each result. */
#define NEW(type) (type *)calloc(1, sizeof(type) + 64)
#define OUT(function, type, call)      \
    do {                               \
        type *out = NEW(type);         \
        anew();                        \
        if (call) abort();             \
        WRITES(function, out, sizeof *out); \
    } while (0)
#define TEXT(function, call)                         \
    do {                                             \
        char *out = calloc(1, PATH_MAX);             \
        anew();                                      \
        if (call) abort();                           \
        WRITES(function, out, strlen(out) + 1);      \
    } while (0)
/* The same for what a machine may lack: if the call fails, nothing is expected of the log. */
#define TEXT_IF_THERE(function, call)                           \
    do {                                                        \
        char *out = calloc(1, PATH_MAX);                        \
        anew();                                                 \
        int failed = (call) != 0;                               \
        WRITES(function, out, failed ? 0 : strlen(out) + 1);    \
    } while (0)
#define OUT_IF_THERE(function, type, call)                      \
    do {                                                        \
        type *out = NEW(type);                                  \
        anew();                                                 \
        int failed = (call) != 0;                               \
        WRITES(function, out, failed ? 0 : sizeof *out);        \
    } while (0)
/* The same for a function that reads one more object. */
#define READING(function, object, bytes, call) \
    do {                                       \
        anew();                                \
        if (call) abort();                     \
        READS(function, object, bytes);        \
    } while (0)

__attribute__((unused)) static void print_rows(void)
{
    for (int at = 0; at < count; at++)
        printf("%s %s %p %zu\n", rows[at].function, rows[at].what, rows[at].address, rows[at].bytes);
}

/* Both threads log between their accesses, and the logger's lock orders what it does not protect. */
#include <pthread.h>
#include <string.h>
#include "../hidden_order.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[256];
static int requests;

static void log_line(const char *line)
{
    pthread_mutex_lock(&log_lock);
    strncpy(log_text, line, sizeof log_text - 1);
    pthread_mutex_unlock(&log_lock);
}

static void *first(void *unused)
{
    requests++; /* race */
    log_line("first is done");
    reach(1);
    return unused;
}

static void *second(void *unused)
{
    await(1);
    log_line("second starts");
    requests++; /* race */
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return 0;
}

/* A server counts requests without a lock, and logs with one. In most runs the log's lock lies between the two accesses, so
   that a detector of what happened sees nothing. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static char last_line[64];
static int requests;

static void log_line(const char *line)
{
    pthread_mutex_lock(&log_lock);
    strncpy(last_line, line, sizeof last_line - 1);
    pthread_mutex_unlock(&log_lock);
}

static void *early(void *unused)
{
    requests++;
    log_line("early request served");
    return unused;
}

static void *late(void *unused)
{
    sleep(1);
    log_line("late request comes");
    requests++;
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    pthread_create(&threads[0], 0, early, 0);
    pthread_create(&threads[1], 0, late, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    printf("%d requests\n", requests);
    return 0;
}

/* Two threads put a text into one buffer. */
#include <pthread.h>
#include <stdio.h>

static char buffer[32];

static void *other(void *unused)
{
    snprintf(buffer, sizeof buffer, "%s", "other"); /* race */
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    int letters = sprintf(buffer, "%d", 12345); /* race */
    pthread_join(thread, 0);
    return letters != 5;
}

/* A thread changes what libc writes out for another. */
#include <pthread.h>
#include <stdio.h>

static int values[4];

static void *other(void *unused)
{
    values[2] = 7; /* race */
    return unused;
}

int main(void)
{
    FILE *nowhere = fopen("/dev/null", "w");
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    fwrite(values, sizeof *values, 4, nowhere); /* race */
    pthread_join(thread, 0);
    return fclose(nowhere);
}

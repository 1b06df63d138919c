/* libc writes a line into memory that another thread reads; nothing but an accident keeps them apart. */
#include <pthread.h>
#include <stdio.h>

static char line[16];

static void *other(void *unused)
{
    FILE *stream = fmemopen("hello\n", 6, "r");
    if (fgets(line, sizeof line, stream)) /* race */
        fclose(stream);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    int seen = line[1]; /* race */
    pthread_join(thread, 0);
    return seen == 42;
}

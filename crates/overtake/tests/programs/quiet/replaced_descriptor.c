/* A descriptor is replaced while another thread reads from it: whoever reads meets the old file or the new one, never none. */
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

static int file;

static void *reader(void *unused)
{
    char byte;
    for (int i = 0; i < 10; i++)
        if (read(file, &byte, 1) < 0)
            return unused;
    return unused;
}

int main(void)
{
    pthread_t thread;
    file = open("/dev/zero", O_RDONLY);
    int other = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, 0, reader, 0);
    dup2(other, file);
    pthread_join(thread, 0);
    return close(file) + close(other);
}

/* One byte of an int is written here, the whole int is read there; the neighbouring bytes race with nobody. */
#include <pthread.h>

static union { int whole; char bytes[4]; } shared;
static char neighbours[2];

static void *other(void *unused)
{
    shared.bytes[2] = 1; /* race */
    neighbours[1] = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    neighbours[0] = 1;
    int seen = shared.whole; /* race */
    pthread_join(thread, 0);
    return seen == 42;
}

/* A barrier is destroyed by the first thread that has left it. The other one may still be inside. */
#include <pthread.h>

pthread_barrier_t barrier;

static void *meet(void *unused)
{
    pthread_barrier_wait(&barrier); /* race */
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_barrier_init(&barrier, 0, 2);
    pthread_create(&thread, 0, meet, 0);
    pthread_barrier_wait(&barrier);
    pthread_barrier_destroy(&barrier); /* race */
    pthread_join(thread, 0);
    return 0;
}

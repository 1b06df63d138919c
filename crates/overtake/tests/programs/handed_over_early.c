/* Nothing races. One thread writes early and hands over; its log is short and stays whole. The other one's log is long, so that under a limit its
   beginning is lost, in which it took over what it uses at its end. */
#include <pthread.h>
#include <semaphore.h>

static int early[64], sum;
static volatile char volume[1 << 20];
static sem_t handed_over;

static void *writer(void *unused)
{
    for (int at = 0; at < 64; at++)
        early[at] = at;
    sem_post(&handed_over);
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&handed_over, 0, 0);
    pthread_create(&thread, 0, writer, 0);
    sem_wait(&handed_over);
    for (unsigned step = 0; step < 1u << 20; step++)
        volume[step * 40503u % sizeof volume] = 1;
    for (int at = 0; at < 64; at++)
        sum += early[at];
    pthread_join(thread, 0);
    return 0;
}

/* A signal interrupts code that ignores synchronisation; what its handler orders counts all the same. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);

static sem_t given;
static int value;

static void hand_over(int signal)
{
    value = signal;
    sem_post(&given);
}

static void *take(void *unused)
{
    sem_wait(&given);
    value++;
    return unused;
}

int main(void)
{
    pthread_t thread;
    sem_init(&given, 0, 0);
    signal(SIGUSR1, hand_over);
    pthread_create(&thread, 0, take, 0);
    AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
    raise(SIGUSR1);
    AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    pthread_join(thread, 0);
    return value == 0;
}

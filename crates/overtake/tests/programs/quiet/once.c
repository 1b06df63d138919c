/* What is set up once is read by all. */
#include <pthread.h>
#include <threads.h>

static pthread_once_t posix = PTHREAD_ONCE_INIT;
static once_flag standard = ONCE_FLAG_INIT;
static int first, second;

static void set_first(void) { first = 1; }
static void set_second(void) { second = 1; }

static void *user(void *unused)
{
    pthread_once(&posix, set_first);
    call_once(&standard, set_second);
    return first + second == 2 ? unused : (void *)1;
}

int main(void)
{
    pthread_t threads[4];
    void *result = 0;
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], 0, user, 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], &result);
    return result != 0;
}

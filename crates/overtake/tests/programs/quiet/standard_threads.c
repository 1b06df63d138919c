/* The threads of C11: mutexes, condition variables, joins with results, thread-specific values. */
#include <threads.h>
#include <time.h>

static mtx_t lock;
static cnd_t changed;
static tss_t mine;
static int turns, total, destroyed;

static void destroy(void *value)
{
    mtx_lock(&lock);
    destroyed += *(int *)value;
    mtx_unlock(&lock);
}

static int worker(void *number)
{
    int me = *(int *)number;
    tss_set(mine, number);
    struct timespec until;
    timespec_get(&until, TIME_UTC);
    until.tv_sec += 60;
    mtx_timedlock(&lock, &until);
    while (turns != me)
        if (me == 0)
            cnd_timedwait(&changed, &lock, &until);
        else
            cnd_wait(&changed, &lock);
    total += me;
    turns++;
    cnd_broadcast(&changed);
    mtx_unlock(&lock);
    return me;
}

int main(void)
{
    thrd_t threads[4];
    int numbers[4] = {0, 1, 2, 3}, sum = 0;
    mtx_init(&lock, mtx_timed);
    cnd_init(&changed);
    tss_create(&mine, destroy);
    for (int i = 3; i >= 0; i--)
        thrd_create(&threads[i], worker, &numbers[i]);
    for (int i = 0; i < 4; i++) {
        int result;
        thrd_join(threads[i], &result);
        sum += result;
        numbers[i] = 0;
    }
    cnd_destroy(&changed);
    mtx_destroy(&lock);
    return sum != 6 || total != 6 || destroyed != 6;
}

/* Threads of threads, each joined before its result is read; stacks are used again and again. */
#include <pthread.h>
#include <stdlib.h>

struct task { int depth, sum; };

static void *work(void *argument)
{
    struct task *task = argument;
    task->sum = 1;
    if (task->depth > 0) {
        struct task children[2] = {{task->depth - 1, 0}, {task->depth - 1, 0}};
        pthread_t threads[2];
        for (int i = 0; i < 2; i++)
            pthread_create(&threads[i], 0, work, &children[i]);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], 0);
            task->sum += children[i].sum;
        }
    }
    return 0;
}

int main(void)
{
    struct task *task = malloc(sizeof *task);
    task->depth = 4;
    work(task);
    int sum = task->sum;
    free(task);
    return sum != 31;
}

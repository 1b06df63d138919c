/* A pool of workers that take tasks by an atomic counter and hand results over by joining: no race. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { workers = 3, tasks = 60 };
static atomic_int next;
static int *results;

static void *worker(void *unused)
{
    for (int task; (task = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed)) < tasks;)
        results[task] = task * task;
    return unused;
}

int main(void)
{
    pthread_t threads[workers];
    long sum = 0;
    results = calloc(tasks, sizeof *results);
    for (int i = 0; i < workers; i++)
        pthread_create(&threads[i], 0, worker, 0);
    for (int i = 0; i < workers; i++)
        pthread_join(threads[i], 0);
    for (int i = 0; i < tasks; i++)
        sum += results[i];
    free(results);
    printf("sum %ld\n", sum);
    return 0;
}

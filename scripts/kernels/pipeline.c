/* A pipeline: each thread takes blocks from the queue before it, works on them, and puts them into the next one. With RACY they count
   the blocks without a lock, and one of them changes a block that it has handed on. */
#include "crew.h"

#define SLOTS 8
#define BLOCK 64

struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int *slots[SLOTS];
    long first, count;
};

static struct queue *queues;
#ifdef RACY
static long passed;
#endif

static void put(struct queue *queue, int *block) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == SLOTS) pthread_cond_wait(&queue->changed, &queue->lock);
    queue->slots[(queue->first + queue->count++) % SLOTS] = block;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

static int *take(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0) pthread_cond_wait(&queue->changed, &queue->lock);
    int *block = queue->slots[queue->first++ % SLOTS];
    queue->count--;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
    return block;
}

static void *work(void *at) {
    long number = (long)at;
    for (;;) {
        int *block = take(&queues[number]);
        for (int at = 0; block && at < BLOCK; at++) block[at] = block[at] * 3 + number;
        put(&queues[number + 1], block);
        if (!block) return 0;
#ifdef RACY
        if (++passed % 100 == 0 && number == 0) block[1]++;
#endif
    }
}

static void *feed(void *unused) {
    for (long at = 0; at < size; at++) {
        int *block = allocated(BLOCK * sizeof *block);
        for (int number = 0; number < BLOCK; number++) block[number] = at + number;
        put(&queues[0], block);
    }
    put(&queues[0], 0);
    return unused;
}

int main(int argc, char **argv) {
    crew(argc, argv, 3000);
    queues = allocated((threads + 1) * sizeof *queues);
    for (long number = 0; number <= threads; number++)
        queues[number] = (struct queue){PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, 0, 0};
    pthread_t feeder, stages[64];
    pthread_create(&feeder, 0, feed, 0);
    for (long number = 0; number < threads && number < 64; number++)
        pthread_create(&stages[number], 0, work, (void *)number);
    long sum = 0;
#ifdef RACY
    /* Whoever changes a block late must not find it freed: that would break the heap. */
    int **kept = allocated(size * sizeof *kept);
    long count = 0;
#endif
    for (int *block; (block = take(&queues[threads]));) {
        sum += block[BLOCK - 1];
#ifdef RACY
        kept[count++] = block;
#else
        free(block);
#endif
    }
    pthread_join(feeder, 0);
    for (long number = 0; number < threads && number < 64; number++) pthread_join(stages[number], 0);
    printf("%ld\n", sum);
#ifdef RACY
    while (count) free(kept[--count]);
    free(kept);
#endif
    free(queues);
}

// A hash table with a lock per bucket group, chained nodes from malloc. -DPART=8 makes it do about an eighth of the work.
#ifndef PART
#define PART 1
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { BUCKETS = 4096, LOCKS = 64, OPERATIONS = 400000 / PART, KEYS = 20000 };
struct node { unsigned key; long value; struct node *next; };
static struct node *buckets[BUCKETS];
static pthread_mutex_t locks[LOCKS];
static void add(unsigned key) {
    unsigned bucket = key * 2654435761u % BUCKETS;
    pthread_mutex_lock(&locks[bucket % LOCKS]);
    struct node *node = buckets[bucket];
    while (node && node->key != key) node = node->next;
    if (!node) {
        node = malloc(sizeof *node);
        node->key = key;
        node->value = 0;
        node->next = buckets[bucket];
        buckets[bucket] = node;
    }
    node->value++;
    pthread_mutex_unlock(&locks[bucket % LOCKS]);
}
static void *run(void *seed) {
    unsigned state = (unsigned)(long)seed + 1;
    for (int i = 0; i < OPERATIONS; i++) {
        state = state * 1664525 + 1013904223;
        add((state >> 8) % KEYS);
    }
    return 0;
}
int main(void) {
    pthread_t threads[2];
    long sum = 0;
    for (int i = 0; i < LOCKS; i++) pthread_mutex_init(&locks[i], 0);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], 0, run, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < BUCKETS; i++)
        for (struct node *node = buckets[i]; node; node = node->next) sum += node->value;
    printf("%ld\n", sum);
    return sum != 2 * OPERATIONS;
}

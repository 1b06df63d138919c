/* Two nodes on the heap, linked in both directions: each function locks its own node first. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_order.h"

struct node {
    pthread_mutex_t lock;
    int links;
};

static struct node *left, *right;

static struct node *make(void)
{
    struct node *node = malloc(sizeof *node); /* allocated */
    pthread_mutex_init(&node->lock, 0);
    node->links = 0;
    return node;
}

static void *link_left(void *unused)
{
    pthread_mutex_lock(&left->lock);
    pthread_mutex_lock(&right->lock); /* waits */
    left->links++;
    pthread_mutex_unlock(&right->lock);
    pthread_mutex_unlock(&left->lock);
    reach(1);
    return unused;
}

static void *link_right(void *unused)
{
    await(1);
    pthread_mutex_lock(&right->lock);
    pthread_mutex_lock(&left->lock); /* waits */
    right->links++;
    pthread_mutex_unlock(&left->lock);
    pthread_mutex_unlock(&right->lock);
    return unused;
}

int main(void)
{
    pthread_t threads[2];
    left = make();
    right = make();
    pthread_create(&threads[0], 0, link_left, 0);
    pthread_create(&threads[1], 0, link_right, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    free(left);
    free(right);
    return 0;
}

/* Many small blocks: threads put nodes of a few words into trees, a lock for each tree, and take whole trees down again. */
#include "crew.h"

#define TREES 32

struct node {
    uint32_t key;
    long visits;
    struct node *children[2];
};
static struct node *trees[TREES];
static pthread_mutex_t locks[TREES];

static void add(struct node **at, uint32_t key) {
    while (*at && (*at)->key != key) at = &(*at)->children[key > (*at)->key];
    if (!*at) {
        *at = allocated(sizeof **at);
        **at = (struct node){key, 0, {0, 0}};
    }
    (*at)->visits++;
}

static long take_down(struct node *node) {
    if (!node) return 0;
    long visits = node->visits + take_down(node->children[0]) + take_down(node->children[1]);
    free(node);
    return visits;
}

static void *work(void *at) {
    uint32_t state = 1 + (uint32_t)(long)at;
    long visits = 0;
    for (long number = 0; number < size; number++) {
        uint32_t key = next_random(&state), tree = key % TREES;
        pthread_mutex_lock(&locks[tree]);
        add(&trees[tree], key);
        if (number % 1024 == 0) {
            visits += take_down(trees[tree]);
            trees[tree] = 0;
        }
        pthread_mutex_unlock(&locks[tree]);
    }
    return (void *)visits;
}

int main(int argc, char **argv) {
    crew(argc, argv, 20000);
    for (int tree = 0; tree < TREES; tree++) pthread_mutex_init(&locks[tree], 0);
    work_together(work);
    long visits = 0;
    for (int tree = 0; tree < TREES; tree++) visits += take_down(trees[tree]);
    printf("%ld\n", visits);
}

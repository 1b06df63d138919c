/* printf reads what %s stands for. */
#include <pthread.h>
#include <stdio.h>
#include "../hidden_order.h"

static char word[8] = "word";

static void *change(void *unused)
{
    await(1);
    word[0] = 'W'; /* race */
    return unused;
}

int main(void)
{
    pthread_t thread;
    char line[32];
    pthread_create(&thread, 0, change, 0);
    snprintf(line, sizeof line, "%d %s", 1, word); /* race */
    reach(1);
    pthread_join(thread, 0);
    return 0;
}

/* What scanf writes while another thread reads it. */
#include <pthread.h>
#include <stdio.h>
#include "../hidden_order.h"

static int number;

static void *look(void *unused)
{
    await(1);
    return number ? unused : &number; /* race */
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, look, 0);
    int got = sscanf("7", "%d", &number); /* race */
    reach(1);
    pthread_join(thread, 0);
    return got != 1;
}

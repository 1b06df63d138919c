/* Two tellers move money. The total is kept under a lock; the number of transfers is not. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balances[2] = {1000, 1000};
static long transfers;

static void transfer(int from, int to, long amount)
{
    pthread_mutex_lock(&lock);
    balances[from] -= amount;
    balances[to] += amount;
    pthread_mutex_unlock(&lock);
    transfers++;
}

static void *teller(void *argument)
{
    int from = (int)(long)argument;
    for (int i = 0; i < 100; i++)
        transfer(from, 1 - from, 1);
    return 0;
}

int main(void)
{
    pthread_t tellers[2];
    for (long i = 0; i < 2; i++)
        pthread_create(&tellers[i], 0, teller, (void *)i);
    for (int i = 0; i < 2; i++)
        pthread_join(tellers[i], 0);
    printf("total %ld\n", balances[0] + balances[1]);
    return 0;
}

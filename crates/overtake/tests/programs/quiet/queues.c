/* What is sent through a message queue comes before its receipt, for queues of System V and of POSIX. Directories that were closed leave their
   descriptors to others. */
#include "../hidden_order.h"
#include <dirent.h>
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <unistd.h>

struct letter {
    long kind;
    char text[8];
};

static int by_number, by_name;
static int numbered;
static mqd_t named;

static void *sender(void *unused)
{
    struct letter letter = {1, "hello"};
    by_number = 1;
    if (numbered >= 0) msgsnd(numbered, &letter, sizeof letter.text, 0);
    by_name = 1;
    if (named != (mqd_t)-1) mq_send(named, "x", 1, 0);
    for (int round = 0; round < 2; round++) {
        DIR *directory = opendir("/");
        readdir(directory);
        closedir(directory);
        reach(round + 1);
    }
    return unused;
}

static void *receiver(void *unused)
{
    struct letter letter;
    char text[64];
    if (numbered >= 0 && msgrcv(numbered, &letter, sizeof letter.text, 0, 0) >= 0) by_number++;
    if (named != (mqd_t)-1 && mq_receive(named, text, sizeof text, NULL) >= 0) by_name++;
    await(2);
    int file = open("/dev/null", O_RDONLY);
    if (read(file, text, 1) < 0) abort();
    close(file);
    return unused;
}

int main(void)
{
    char name[64];
    struct mq_attr attributes = {.mq_maxmsg = 1, .mq_msgsize = sizeof name};
    snprintf(name, sizeof name, "/overtake-%d", (int)getpid());
    numbered = msgget(IPC_PRIVATE, 0600);
    named = mq_open(name, O_CREAT | O_RDWR, 0600, &attributes);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, sender, NULL);
    pthread_create(&threads[1], NULL, receiver, NULL);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    if (named != (mqd_t)-1) mq_unlink(name);
    if (numbered >= 0) msgctl(numbered, IPC_RMID, NULL);
    return 0;
}

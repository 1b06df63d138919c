/* Who waits for a descriptor learns from its being ready, without reading what is there. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <unistd.h>

static int event, pipes[2][2], payload[4];

static void *waiter(void *unused)
{
    struct pollfd polled[2] = {{.fd = -1}, {.fd = event, .events = POLLIN}};
    if (poll(polled, 2, -1) == 1)
        payload[0]++;
    polled[1].fd = pipes[0][0];
    if (ppoll(polled, 2, 0, 0) == 1)
        payload[1]++; /* it was closed */
    fd_set files;
    for (int way = 0; way < 2; way++) {
        FD_ZERO(&files);
        FD_SET(pipes[1][0], &files);
        int count = pipes[1][0] + 1;
        if ((way ? pselect(count, &files, 0, 0, 0, 0) : select(count, &files, 0, 0, 0)) == 1)
            payload[2 + way]++;
    }
    return unused;
}

int main(void)
{
    event = eventfd(0, 0);
    if (pipe(pipes[0]) || pipe(pipes[1]))
        return 1;
    pthread_t thread;
    pthread_create(&thread, 0, waiter, 0);
    payload[0] = 1;
    eventfd_write(event, 1);
    payload[1] = 2;
    close(pipes[0][1]);
    payload[2] = payload[3] = 3;
    if (write(pipes[1][1], "x", 1) != 1)
        return 1;
    pthread_join(thread, 0);
    return payload[0] + payload[1] + payload[2] + payload[3] != 9 + 4;
}

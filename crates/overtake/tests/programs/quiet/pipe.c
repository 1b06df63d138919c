/* A pipe, a socket pair and an event descriptor hand data over. */
#include <pthread.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static int pipes[2], sockets[2], event, payload[3];

static void *other(void *unused)
{
    char byte;
    uint64_t count;
    if (read(pipes[0], &byte, 1) != 1)
        return unused;
    payload[0]++;
    payload[1] = 7;
    if (write(sockets[1], "x", 1) != 1 || read(event, &count, sizeof count) != sizeof count)
        return unused;
    payload[2]++;
    return unused;
}

int main(void)
{
    if (pipe(pipes) || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
        return 1;
    event = eventfd(0, 0);
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    payload[0] = 1;
    if (write(pipes[1], "x", 1) != 1)
        return 1;
    char byte;
    if (recv(sockets[0], &byte, 1, 0) != 1)
        return 1;
    payload[1]++;
    payload[2] = 3;
    uint64_t one = 1;
    if (write(event, &one, sizeof one) != sizeof one)
        return 1;
    pthread_join(thread, 0);
    return payload[1] != 8;
}

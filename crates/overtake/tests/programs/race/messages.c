/* Messages that were handed to the kernel together are read by it, and one is written meanwhile. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/socket.h>

static char texts[2][8] = {"first", "second"};

static void *other(void *unused)
{
    texts[1][0] = 'S'; /* race */
    return unused;
}

int main(void)
{
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
        return 1;
    struct iovec parts[2] = {{texts[0], 5}, {texts[1], 6}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 1}},
                                  {.msg_hdr = {.msg_iov = parts + 1, .msg_iovlen = 1}}};
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    int sent = sendmmsg(sockets[0], messages, 2, 0); /* race */
    pthread_join(thread, 0);
    return sent != 2;
}

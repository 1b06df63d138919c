/* Data goes from the first pipe through a third thread, which never looks at it, into the second. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { WAYS = 3 };
static int first[WAYS][2], second[WAYS][2], payload[WAYS], mapped[2], sockets[2], other[2], sent[2], by_file;
static char path[] = "/tmp/overtake-passed-on-XXXXXX";

static void *pass_on(void *unused)
{
    /* Waits for what is not there yet, and finds what is. */
    if (splice(first[0][0], 0, second[0][1], 0, 1, 0) != 1 || tee(first[1][0], second[1][1], 1, 0) != 1)
        return unused;
    return splice(first[2][0], 0, second[2][1], 0, 1, SPLICE_F_MOVE) == 1 ? unused : 0;
}

static void *take(void *unused)
{
    char byte, bytes[2];
    for (int way = 0; way < WAYS; way++)
        if (read(second[way][0], &byte, 1) == 1)
            payload[way]++;
    struct iovec there = {&byte, 1};
    if (vmsplice(mapped[0], &there, 1, 0) == 1)
        sent[0]++;
    struct iovec parts[2] = {{bytes, 1}, {bytes + 1, 1}};
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = parts, .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = parts + 1, .msg_iovlen = 1}}};
    if (recvmmsg(sockets[1], messages, 2, 0, 0) == 2)
        sent[1]++;
    if (read(other[1], &byte, 1) == 1)
        by_file++;
    return unused;
}

int main(void)
{
    int file = mkstemp(path);
    if (file < 0 || unlink(path) || pipe(mapped) || socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets)
        || socketpair(AF_UNIX, SOCK_STREAM, 0, other))
        return 1;
    for (int way = 0; way < WAYS; way++)
        if (pipe(first[way]) || pipe(second[way]))
            return 1;
    pthread_t threads[2];
    pthread_create(&threads[0], 0, pass_on, 0);
    pthread_create(&threads[1], 0, take, 0);
    for (int way = 0; way < WAYS; way++) {
        payload[way] = way;
        if (write(first[way][1], "x", 1) != 1)
            return 1;
    }
    sent[0] = 1;
    struct iovec here = {"x", 1};
    if (vmsplice(mapped[1], &here, 1, 0) != 1)
        return 1;
    sent[1] = 1;
    struct mmsghdr messages[2] = {{.msg_hdr = {.msg_iov = &here, .msg_iovlen = 1}}, {.msg_hdr = {.msg_iov = &here, .msg_iovlen = 1}}};
    if (sendmmsg(sockets[0], messages, 2, 0) != 2)
        return 1;
    by_file = 1;
    off_t start = 0;
    if (write(file, "x", 1) != 1 || sendfile(other[0], file, &start, 1) != 1)
        return 1;
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return payload[0] + payload[1] + payload[2] + sent[0] + sent[1] + by_file != 3 + WAYS + 6;
}

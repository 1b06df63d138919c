// Order through descriptors.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
int main(void) {
    int ends[2], pair[2];
    char buffer[16];
    uint64_t one = 1;
    int event = eventfd(0, 0);
    if (pipe(ends) || write(ends[1], "hello", 5) != 5 || read(ends[0], buffer, 16) != 5) return 1;
    int copy = dup(ends[1]);
    close(ends[1]);
    if (write(copy, "x", 1) != 1 || read(ends[0], buffer, 16) != 1) return 1;
    close(copy);
    if (read(ends[0], buffer, 16) != 0) return 1;
    if (write(event, &one, 8) != 8 || read(event, &one, 8) != 8) return 1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) return 1;
    struct iovec parts[2] = {{"ab", 2}, {"cde", 3}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (sendmsg(pair[0], &message, 0) != 5 || recv(pair[1], buffer, 16, 0) != 5 || memcmp(buffer, "abcde", 5)) return 1;
    if (sendto(pair[1], "z", 1, 0, 0, 0) != 1 || recvfrom(pair[0], buffer, 16, 0, 0, 0) != 1 || buffer[0] != 'z') return 1;
    int watcher = epoll_create1(0);
    struct epoll_event ready = {.events = EPOLLOUT};
    if (epoll_ctl(watcher, EPOLL_CTL_ADD, event, &ready) || epoll_wait(watcher, &ready, 1, -1) != 1) return 1;
    struct stat about;
    int used = socket(AF_INET, SOCK_STREAM, 0);
    if (fstat(used, &about) || listen(used, 1)) return 1;
    printf("used %d\n", used);
    printf("read %d\nwrite %d\ncopy %d\nevent %d\nfirst %d\nsecond %d\nwatcher %d\nbuffer %p\n", ends[0], ends[1], copy, event, pair[0], pair[1], watcher, (void *)buffer);
    return 0;
}

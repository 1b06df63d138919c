#include "awkward.h"
int main(void) {
    int ends[2];
    char byte;
    if (pipe(ends)) return 1;
    pid_t parent = getpid();
    if (daemon(0, 1)) return 1;
    close(ends[1]);
    /* The end of the pipe comes when the first process has ended. */
    while (read(ends[0], &byte, 1) > 0) {}
    printf("daemon %d\n", getpid() != parent);
    race();
    return 0;
}

// Forks with text in the buffer of standard output, which only the parent writes.
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    printf("once\n");
    if (fork() == 0) _exit(0);
    wait(0);
    return 0;
}

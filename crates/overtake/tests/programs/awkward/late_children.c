#include "awkward.h"
int main(void) {
    int ends[2];
    char byte;
    if (pipe(ends)) return 1;
    if (fork()) return 5;
    close(ends[1]);
    while (read(ends[0], &byte, 1) > 0) {}
    pid_t child = fork();
    if (child == 0) {
        puts("grandchild");
        race();
        return 0;
    }
    exit_code_of(child);
    puts("child");
    return 0;
}

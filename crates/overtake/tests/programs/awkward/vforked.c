#include "awkward.h"
int main(void) {
    pid_t child = vfork();
    if (child == 0) _exit(7);
    printf("%d\n", exit_code_of(child));
    child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", (char *)0);
        _exit(1);
    }
    printf("%d\n", exit_code_of(child));
    race();
    return 0;
}

#include "awkward.h"
#include <spawn.h>
extern char **environ;
int main(void) {
    pid_t child;
    char *arguments[] = {"sh", "-c", "echo from the child; exit 4", 0};
    if (posix_spawn(&child, "/bin/sh", 0, 0, arguments, environ)) return 1;
    printf("%d\n", exit_code_of(child));
    race();
    return 0;
}

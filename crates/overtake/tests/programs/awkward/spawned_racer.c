/* Programs that this one starts race: one by posix_spawn, or one that a shell starts, or one by fork and exec. */
#include "awkward.h"
#include <spawn.h>
extern char **environ;
int main(int count_of_arguments, char **given) {
    char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return 1;
    path[length] = 0;
    if (count_of_arguments > 1) {
        race();
        return 0;
    }
    char *spawned[] = {given[0], "child", 0}, *by_shell[] = {"sh", "-c", "\"$0\" child; exit 0", path, 0};
    pid_t child;
    if (posix_spawn(&child, path, 0, 0, spawned, environ)) return 1;
    exit_code_of(child);
    if (posix_spawn(&child, "/bin/sh", 0, 0, by_shell, environ)) return 1;
    printf("shell %d\n", exit_code_of(child));
    child = fork();
    if (child == 0) {
        execl(path, given[0], "child", (char *)0);
        _exit(1);
    }
    exit_code_of(child);
    puts("all have ended");
    return 0;
}

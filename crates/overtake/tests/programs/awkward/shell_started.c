/* Only a program that a shell starts races, and the shell ends with 0. */
#include "awkward.h"
int main(int count_of_arguments, char **given) {
    (void)given;
    if (count_of_arguments > 1) {
        race();
        return 0;
    }
    char command[4200], path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length < 0) return 1;
    path[length] = 0;
    snprintf(command, sizeof command, "\"%s\" child; exit 0", path);
    printf("shell %d\n", system(command));
    return 0;
}

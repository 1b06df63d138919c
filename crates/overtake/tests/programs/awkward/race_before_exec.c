/* The race is reported before the process becomes another program, which knows of it. */
#include "awkward.h"
int main(int count_of_arguments, char **given) {
    if (count_of_arguments == 1) {
        char *again[] = {given[0], "again", 0};
        puts("before");
        fflush(stdout);
        race();
        execv("/proc/self/exe", again);
        return 1;
    }
    printf("after %d\n", getenv("OVERTAKE_BEFORE_EXEC") != 0);
    return 6;
}

#include "awkward.h"
int main(void) {
    puts("raw");
    fflush(stdout);
    race();
    syscall(SYS_exit_group, 5);
    return 0;
}

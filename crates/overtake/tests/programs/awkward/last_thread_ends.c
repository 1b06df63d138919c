#include "awkward.h"
int main(void) {
    puts("last");
    fflush(stdout);
    race();
    syscall(SYS_exit, 5);
    return 0;
}

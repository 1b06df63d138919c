/* No function of libc ends the process: nobody but the kernel knows. */
#include "awkward.h"
int main(void) {
    puts("inline");
    fflush(stdout);
    race();
    __asm__ volatile("syscall" : : "a"(SYS_exit_group), "D"(5) : "rcx", "r11", "memory");
    return 0;
}

#include "awkward.h"
#include "filter.h"
int main(void) {
    /* The first thread makes libc load what it needs for its end. */
    in_thread(count);
    if (filter_call(SYS_openat, SECCOMP_RET_KILL_PROCESS)) return 1;
    puts("filtered");
    fflush(stdout);
    race();
    return 0;
}

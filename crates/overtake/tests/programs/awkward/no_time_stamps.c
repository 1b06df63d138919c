#include "awkward.h"
#include <sys/prctl.h>
int main(void) {
    in_thread(count);
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)) return 1;
    puts("no time stamps");
    race();
    return 0;
}

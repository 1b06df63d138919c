#include "awkward.h"
#include "filter.h"
int main(void) {
    if (filter_call(SYS_openat, SECCOMP_RET_ERRNO | EPERM)) return 1;
    printf("%d\n", open("/dev/null", O_RDONLY));
    race();
    return 0;
}

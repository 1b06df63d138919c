#include "awkward.h"
int main(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit)) return 1;
    limit.rlim_cur = 3;
    if (setrlimit(RLIMIT_NOFILE, &limit)) return 1;
    printf("%d\n", open("/dev/null", O_RDONLY));
    race();
    return 0;
}

#include "awkward.h"
int main(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit)) return 1;
    limit.rlim_cur = 4096;
    signal(SIGXFSZ, SIG_DFL);
    if (setrlimit(RLIMIT_FSIZE, &limit)) return 1;
    puts("small files");
    fflush(stdout);
    race();
    return 0;
}

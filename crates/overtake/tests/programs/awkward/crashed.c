#include "awkward.h"
int main(void) {
    volatile int *volatile nowhere = 0;
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    puts("crashed");
    fflush(stdout);
    race();
    *nowhere = 1;
    return 0;
}

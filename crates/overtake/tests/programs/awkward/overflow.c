#include "awkward.h"
__attribute__((noinline)) static int descend(int depth) {
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : descend(depth + 1) + room[0];
}
int main(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    puts("overflow");
    fflush(stdout);
    race();
    return descend(0);
}

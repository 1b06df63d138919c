#include "awkward.h"
__attribute__((noinline)) static int descend(int depth) {
    volatile char room[4096];
    room[0] = (char)depth;
    return depth < 0 ? 0 : descend(depth + 1) + room[0];
}
static void *start(void *unused) {
    descend(0);
    return unused;
}
int main(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    puts("overflow");
    fflush(stdout);
    race();
    return in_thread(start);
}

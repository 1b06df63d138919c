#include "awkward.h"
#include <setjmp.h>
static jmp_buf back;
static sigjmp_buf from_signal;
static int depth;
static void __attribute__((noinline)) down(int levels) {
    depth++;
    if (levels > 0) down(levels - 1);
    if (depth > 0) longjmp(back, 1);
    depth--;
}
static void leave(int signal_number) {
    siglongjmp(from_signal, signal_number);
}
int main(void) {
    for (int i = 0; i < 100; i++) {
        if (setjmp(back) == 0) down(50);
    }
    signal(SIGUSR1, leave);
    if (sigsetjmp(from_signal, 1) == 0) raise(SIGUSR1);
    printf("%d\n", depth);
    race();
    return 0;
}

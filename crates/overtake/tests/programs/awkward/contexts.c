#include "awkward.h"
#include <ucontext.h>
static ucontext_t home, other;
static int turns;
static void work(void) {
    for (;;) {
        turns++;
        swapcontext(&other, &home);
    }
}
int main(void) {
    static char stack[65536];
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    makecontext(&other, work, 0);
    for (int i = 0; i < 1000; i++) swapcontext(&home, &other);
    printf("%d\n", turns);
    race();
    return 0;
}

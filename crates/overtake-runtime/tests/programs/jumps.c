// longjmp out of deep recursion: the recorded call stack becomes correct again.
#include <setjmp.h>
#include <stdio.h>
static jmp_buf place;
volatile int before, inside, after, outside;
static __attribute__((noinline)) void dive(int depth) {
    if (depth == 0) { inside = 1; longjmp(place, 1); }
    dive(depth - 1);
    __asm__ volatile("");
}
static __attribute__((noinline)) void leaf(void) { after = 1; __asm__ volatile(""); }
static __attribute__((noinline)) void jump(void) {
    before = 1;
    if (setjmp(place) == 0) dive(50);
    leaf();
    __asm__ volatile("");
}
int main(void) {
    printf("before %p\ninside %p\nafter %p\noutside %p\n", (void *)&before, (void *)&inside, (void *)&after, (void *)&outside);
    jump();
    outside = 1;
    return 0;
}

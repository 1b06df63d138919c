/* Hands a pointer from one thread to another as code does that is not instrumented: the recorder does not see it. */
#include <sched.h>

static void *volatile hidden_pointer;

__attribute__((no_sanitize("thread"), noinline, unused)) static void give(void *pointer) { hidden_pointer = pointer; }

__attribute__((no_sanitize("thread"), noinline, unused)) static void *take(void)
{
    while (!hidden_pointer)
        sched_yield();
    return hidden_pointer;
}

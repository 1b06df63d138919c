/* An order between threads that the recorder cannot see: tests decide which schedule a run has without adding an edge to it. With
   OVERTAKE_TEST_UNORDERED in the environment there is no such order: what the program allows can happen. */
#include <sched.h>
#include <stdlib.h>

static volatile int hidden_stage;

/* From now on threads that await this stage go on. */
__attribute__((no_sanitize("thread"), noinline, unused)) static void reach(int stage) { hidden_stage = stage; }

/* Waits until this stage was reached. */
__attribute__((no_sanitize("thread"), noinline, unused)) static void await(int stage)
{
    if (getenv("OVERTAKE_TEST_UNORDERED"))
        return;
    while (hidden_stage < stage)
        sched_yield();
}

/* The stage that was reached last. */
__attribute__((no_sanitize("thread"), noinline, unused)) static int stage(void) { return hidden_stage; }

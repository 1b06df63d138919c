/* An order between threads that the recorder cannot see: tests decide which schedule a run has without adding an edge to it. When
   threads are held to see a race happen (OVERTAKE_GATES), there is no such order: what the program allows can happen. */
#include <sched.h>
#include <stdlib.h>

static volatile int hidden_stage;

/* From now on threads that await this stage go on. */
__attribute__((no_sanitize("thread"), noinline, unused)) static void reach(int stage) { hidden_stage = stage; }

/* Waits until this stage was reached, in every run: something that the recorder cannot see always keeps this order. */
__attribute__((no_sanitize("thread"), noinline, unused)) static void await_always(int stage)
{
    while (hidden_stage < stage)
        sched_yield();
}

/* Waits until this stage was reached. */
__attribute__((no_sanitize("thread"), noinline, unused)) static void await(int stage)
{
    if (!getenv("OVERTAKE_GATES"))
        await_always(stage);
}

/* The stage that was reached last. */
__attribute__((no_sanitize("thread"), noinline, unused)) static int stage(void) { return hidden_stage; }

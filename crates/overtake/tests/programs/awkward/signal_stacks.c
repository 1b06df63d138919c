/* Where handlers run, and what the program is told about it. */
#include "awkward.h"
enum { BYTES = 1 << 16 };
static char room[BYTES];
static volatile int is_in_room;
static void look(int number) {
    char here;
    (void)number;
    is_in_room = &here >= room && &here < room + BYTES;
}
static void tell(const char *when) {
    stack_t now;
    if (sigaltstack(0, &now)) puts("failed");
    raise(SIGUSR1);
    printf("%s: %s, %zu bytes, in it %d\n", when, now.ss_flags & SS_DISABLE ? "none" : "one", now.ss_size, is_in_room);
}
static void *tell_in_thread(void *unused) {
    tell("thread");
    return unused;
}
int main(void) {
    struct sigaction action = {.sa_handler = look, .sa_flags = SA_ONSTACK}, now;
    stack_t own = {.ss_sp = room, .ss_size = BYTES}, none = {.ss_flags = SS_DISABLE};
    sigaction(SIGUSR1, &action, 0);
    tell("at first");
    in_thread(tell_in_thread);
    if (sigaltstack(&own, 0)) return 1;
    tell("set");
    sigaction(SIGUSR1, 0, &now);
    printf("asked for %d\n", (now.sa_flags & SA_ONSTACK) != 0);
    if (sigaltstack(&none, 0)) return 1;
    tell("given up");
    in_thread(tell_in_thread);
    race();
    return 0;
}

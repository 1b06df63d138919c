/* Handlers of the program's own before the default action: one that restores it, one for one call. */
#include "awkward.h"
static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) _exit(1);
}
static void restore(int number) {
    say("restore\n");
    signal(number, SIG_DFL);
}
static void once(int number) {
    (void)number;
    say("once\n");
}
int main(void) {
    volatile int *volatile nowhere = 0;
    struct rlimit none = {0, 0};
    struct sigaction action = {.sa_handler = once, .sa_flags = (int)SA_RESETHAND}, before;
    setrlimit(RLIMIT_CORE, &none);
    signal(SIGBUS, restore);
    raise(SIGBUS);
    sigaction(SIGBUS, &action, &before);
    printf("default %d %d\n", before.sa_handler == SIG_DFL, before.sa_flags);
    sigaction(SIGSEGV, &action, &before);
    printf("default %d %d\n", before.sa_handler == SIG_DFL, before.sa_flags);
    sigaction(SIGSEGV, 0, &before);
    printf("once %d %d\n", before.sa_handler == once, (before.sa_flags & (int)SA_RESETHAND) != 0);
    fflush(stdout);
    raise(SIGBUS);
    race();
    *nowhere = 1;
    return 0;
}

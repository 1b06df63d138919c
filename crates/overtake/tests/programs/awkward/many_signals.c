#include "awkward.h"
#include <sys/time.h>
static volatile sig_atomic_t seen;
static void handle(int signal_number) {
    (void)signal_number;
    seen++;
}
int main(void) {
    struct itimerval every = {{0, 100}, {0, 100}};
    signal(SIGALRM, handle);
    setitimer(ITIMER_REAL, &every, 0);
    while (seen < 1000) count(0);
    memset(&every, 0, sizeof every);
    setitimer(ITIMER_REAL, &every, 0);
    puts("1000 signals");
    race();
    return 0;
}

#include "awkward.h"
int main(void) {
    puts("interrupted");
    fflush(stdout);
    race();
    kill(getpid(), SIGTERM);
    for (;;) pause();
}

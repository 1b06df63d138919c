#include "awkward.h"
int main(void) {
    puts("killed");
    fflush(stdout);
    race();
    raise(SIGKILL);
    return 0;
}

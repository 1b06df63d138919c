/* A daemon has no standard error: its report goes elsewhere. */
#include "awkward.h"
int main(void) {
    int ends[2], kept = dup(1);
    char byte;
    if (kept < 0 || pipe(ends) || daemon(0, 0)) return 1;
    close(ends[1]);
    /* The end of the pipe comes when the first process has ended. */
    while (read(ends[0], &byte, 1) > 0) {}
    if (write(kept, "daemon\n", 7) != 7) return 1;
    race();
    return 0;
}

/* A daemon has no standard error: its report goes elsewhere. */
#include "awkward.h"
int main(void) {
    int kept = dup(1);
    if (kept < 0 || daemon(0, 0)) return 1;
    if (write(kept, "daemon\n", 7) != 7) return 1;
    race();
    return 0;
}

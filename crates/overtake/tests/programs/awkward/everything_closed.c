#include "awkward.h"
int main(void) {
    syscall(SYS_close_range, 3, ~0U, 0);
    int opened = open("/dev/null", O_RDONLY);
    printf("%d\n", opened);
    race();
    return 0;
}

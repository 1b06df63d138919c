#include "awkward.h"
int main(void) {
    need_root();
    if (setgid(65534) || setuid(65534)) return 1;
    printf("user %d\n", (int)getuid());
    race();
    return 0;
}

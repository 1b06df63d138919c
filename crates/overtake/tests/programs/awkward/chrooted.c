#include "awkward.h"
int main(void) {
    char name[] = "/tmp/awkward-root-XXXXXX";
    need_root();
    /* What has no name any more needs not be removed. */
    if (!mkdtemp(name) || chdir(name) || rmdir(name) || chroot(".")) return 1;
    printf("%d\n", access("/tmp", F_OK));
    race();
    return 0;
}

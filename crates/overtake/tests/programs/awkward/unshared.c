#include "awkward.h"
#include <sched.h>
#include <sys/mount.h>
int main(void) {
    need_root();
    if (unshare(CLONE_NEWNS | CLONE_FS | CLONE_FILES)) {
        puts("not allowed");
    } else if (mount("none", "/", 0, MS_REC | MS_PRIVATE, 0) == 0) {
        mount("none", "/tmp", "tmpfs", 0, 0);
        mount("none", "/dev/shm", "tmpfs", 0, 0);
    }
    puts("unshared");
    race();
    return 0;
}

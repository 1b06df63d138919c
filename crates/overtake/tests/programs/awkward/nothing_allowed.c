#include "awkward.h"
#include <linux/seccomp.h>
#include <sys/prctl.h>
static volatile int words[1 << 16];
/* In strict mode a thread may read, write and end itself. */
static void *strict(void *unused) {
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT)) return unused;
    for (int i = 0; i < 1 << 16; i++) words[i] = i;
    if (!getenv("QUIET")) shared = 1;
    if (write(1, "strict\n", 7) != 7) return unused;
    syscall(SYS_exit, 0);
    return unused;
}
int main(void) {
    pthread_t thread;
    in_thread(count);
    if (pthread_create(&thread, 0, strict, 0)) return 1;
    if (!getenv("QUIET")) shared = 2;
    /* The thread ends without telling anybody but the kernel. */
    pthread_join(thread, 0);
    (void)race;
    puts("joined");
    return 0;
}

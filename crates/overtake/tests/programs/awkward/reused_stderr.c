#include "awkward.h"
int main(void) {
    char text[200];
    char name[] = "/tmp/awkward-file-XXXXXX";
    close(2);
    int file = mkstemp(name);
    unlink(name);
    dprintf(file, "mine");
    /* Whoever writes to standard error now writes into the file. A child looks at what is there when this has ended. */
    int ends[2];
    if (pipe(ends)) return 1;
    if (fork() == 0) {
        close(ends[1]);
        while (read(ends[0], text, 1) > 0) {}
        printf("%d: %zd\n", file, pread(file, text, sizeof text, 0));
        fflush(stdout);
        _exit(0);
    }
    race();
    return 0;
}

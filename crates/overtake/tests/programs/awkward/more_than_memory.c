/* Reserves far more memory than there is, so that the kernel refuses to copy the process. */
#include "awkward.h"
#include <sys/mman.h>
int main(void) {
    for (int part = 0; part < 4096; part++)
        if (mmap(0, 1ul << 32, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) break;
    puts("more than memory");
    race();
    return 0;
}

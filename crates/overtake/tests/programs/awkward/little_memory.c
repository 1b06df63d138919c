#include "awkward.h"
static char room[100];
int main(void) {
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long pages = 0;
    if (!file || fscanf(file, "%lu", &pages) != 1) return 1;
    fclose(file);
    struct rlimit limit = {(pages + 8192) * 4096, (pages + 8192) * 4096};
    if (setrlimit(RLIMIT_AS, &limit)) return 1;
    snprintf(room, sizeof room, "little memory");
    puts(room);
    race();
    return 0;
}

#include "awkward.h"
static void last(void) {
    puts("last words");
    fflush(stdout);
}
int main(void) {
    at_quick_exit(last);
    race();
    quick_exit(3);
}

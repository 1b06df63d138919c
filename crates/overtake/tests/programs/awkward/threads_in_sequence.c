#include "awkward.h"
int main(void) {
    for (int i = 0; i < 50000; i++) {
        if (in_thread(count)) return 1;
    }
    printf("%d\n", counted);
    race();
    return 0;
}

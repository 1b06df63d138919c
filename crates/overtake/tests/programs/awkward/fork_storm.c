#include "awkward.h"
int main(void) {
    int ended = 0;
    for (int i = 0; i < 24; i++) {
        if (fork() == 0) {
            if (i % 3 == 0 && fork() == 0) _exit(in_thread(count));
            while (wait(0) > 0) {}
            _exit(in_thread(count));
        }
    }
    while (wait(0) > 0) ended++;
    printf("%d children\n", ended);
    race();
    return 3;
}

#include "awkward.h"
int main(void) {
    printf("once");
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) _exit(in_thread(count));
        exit_code_of(child);
    }
    race();
    return 0;
}

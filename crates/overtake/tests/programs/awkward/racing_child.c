#include "awkward.h"
int main(void) {
    pid_t child = fork();
    if (child == 0) {
        race();
        return 0;
    }
    exit_code_of(child);
    puts("the child has ended");
    return 0;
}

/* Says when the runtime tells it that it starts and ends. */
#include <stdio.h>

void __tsan_on_initialize(void) { puts("started"); }
int __tsan_on_finalize(int failed) { return puts("ends"), failed; }
__attribute__((constructor)) static void construct(void) { puts("constructed"); }

int main(void) { return puts("runs") < 0; }

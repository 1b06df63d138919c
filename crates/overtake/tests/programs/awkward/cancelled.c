#include "awkward.h"
static int ends[2];
static void clean(void *unused) {
    (void)unused;
    puts("cleaned up");
}
static void *wait_for_ever(void *unused) {
    char byte;
    pthread_cleanup_push(clean, 0);
    while (read(ends[0], &byte, 1) >= 0) {}
    pthread_cleanup_pop(0);
    return unused;
}
int main(void) {
    pthread_t thread;
    void *result;
    if (pipe(ends) || pthread_create(&thread, 0, wait_for_ever, 0)) return 1;
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("%d\n", result == PTHREAD_CANCELED);
    race();
    return 0;
}

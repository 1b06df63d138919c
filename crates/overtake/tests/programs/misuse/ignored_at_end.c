/* Finds ignored-at-end: a thread asks that its accesses are ignored, and ends without taking that back. */
#include <pthread.h>

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);

static void *forget(void *unused)
{
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__); /* misuse */
    return unused;
}

int main(void)
{
    pthread_t thread;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    pthread_create(&thread, 0, forget, 0);
    pthread_join(thread, 0);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    return 0;
}

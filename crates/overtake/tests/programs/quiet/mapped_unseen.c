/* Memory is mapped where the program asks that its writes are ignored, and another thread uses it. */
#include <pthread.h>
#include <sys/mman.h>
#include "../hidden_pointer.h"

void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static void *user(void *unused)
{
    char *volatile memory = take();
    memory[40] = 1;
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, user, 0);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    void *memory = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    give(memory);
    pthread_join(thread, 0);
    return 0;
}

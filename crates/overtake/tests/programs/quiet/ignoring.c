/* What the program asks to ignore: accesses, frees. */
#include <pthread.h>
#include <stdlib.h>
#include "../hidden_order.h"

void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);

static int written_while_reads_are_ignored, read_while_writes_are_ignored;
static int *block;

static void *ignore(void *unused)
{
    await(1);
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    written_while_reads_are_ignored = 1;
    free(block);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    int seen = read_while_writes_are_ignored;
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    reach(2);
    return seen < 0 ? &block : unused;
}

int main(void)
{
    pthread_t thread;
    block = malloc(sizeof *block);
    pthread_create(&thread, 0, ignore, 0);
    *block = 1;
    reach(1);
    await(2);
    written_while_reads_are_ignored++;
    read_while_writes_are_ignored = 1;
    pthread_join(thread, 0);
    return 0;
}

/* One thread reads the loader's names of modules while another thread loads and unloads one. The loader's lock, which nobody else
   sees, orders them. What had been a name becomes the program's own memory afterwards. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

static int before[500];
static volatile int step;

/* Both as in code that is not instrumented. */
__attribute__((no_sanitize("thread"), noinline)) static void reach(int number) { step = number; }

__attribute__((no_sanitize("thread"), noinline)) static void await(int number)
{
    while (step != number)
        sched_yield();
}

static int compare(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size, (void)unused;
    return strcmp(info->dlpi_name, "no module") == 0;
}

/* Most of what this thread does lies before it reads the names. */
static void *reader(void *unused)
{
    await(1);
    for (int i = 0; i < 500; i++)
        before[i * 7 % 500] = i;
    dl_iterate_phdr(compare, 0);
    reach(2);
    await(3);
    return unused;
}

int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, reader, 0);
    void *module = dlopen("libresolv.so.2", RTLD_NOW);
    reach(1);
    await(2);
    dlclose(module);
    for (int size = 1; size < 200; size++) {
        char *volatile block = malloc(size);
        memset(block, 1, size);
    }
    reach(3);
    pthread_join(thread, 0);
    return 0;
}

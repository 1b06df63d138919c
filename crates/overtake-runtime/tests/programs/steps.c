// A signal handler runs, and records, after the first instruction of one access, after the second instruction of the next
// access, and so on: the processor's trap flag counts the instructions. Each access is to an address of its own.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>
enum { COUNT = 180, MOST_STEPS = 79, GAP = 40, TRAP = 0x100 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile long by_handler;
static volatile char bytes[COUNT];
static volatile short shorts[COUNT];
static volatile int ints[COUNT];
static volatile long longs[COUNT], apart[COUNT * GAP], scattered[COUNT];
static struct __attribute__((packed)) { char first; long number; } packed[COUNT];
void __tsan_unaligned_write8(void *address); // some compilers call this, others the function for ranges
static _Alignas(64) volatile __int128 wide[COUNT];
static atomic_long atomics[COUNT];

// A trap would kill the program while signals are blocked, as they are when the log changes to its next chunk: locking the mutex makes
// room for some of the program's accesses first.
static void handler(int signal) {
    by_handler++;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
}

static long steps, turn;

// The recorder does not know of this handler. It sends the signal for the other handler.
static __attribute__((no_sanitize("thread"))) void on_trap(int signal, siginfo_t *facts, void *context) {
    if (--steps > 0) return;
    ((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL] &= ~TRAP;
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGUSR1);
}

static inline __attribute__((always_inline, no_sanitize("thread"))) void prepare(void) {
    steps = 2 + turn++ % MOST_STEPS; // popfq and the first instruction of the call
}

#define STEP(access) do { \
    prepare(); \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc"); \
    access; \
    __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::: "memory", "cc"); \
} while (0)

int main(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    sigaction(SIGUSR1, &action, 0);
    int (*unseen)(int, const struct sigaction *, struct sigaction *) = (int (*)(int, const struct sigaction *, struct sigaction *))dlsym(RTLD_NEXT, "sigaction");
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    sigaddset(&action.sa_mask, SIGUSR1); // until the trap has ended
    unseen(SIGTRAP, &action, 0);
    handler(0); // so that the functions it calls are looked up before
    long sum = 0;
    for (int i = 0; i < COUNT; i++) STEP(longs[i] = i);
    for (int i = 0; i < COUNT; i++) STEP(bytes[i] = 1);
    for (int i = 0; i < COUNT; i++) STEP(ints[i] = 1);
    for (int i = 0; i < COUNT; i++) {
        STEP(shorts[i] = 1);
        STEP(apart[i * GAP] = 1);
        STEP(sum += scattered[i * 7 % COUNT]);
    }
    for (int i = 0; i < COUNT; i++) STEP(__tsan_unaligned_write8(&packed[i].number));
    for (int i = 0; i < COUNT; i++) STEP(wide[i] = i);
    for (int i = 0; i < COUNT; i++) STEP(atomic_fetch_add(&atomics[i], 1));
    printf("count %d\ngap %d\nby_handler %p\nhandled %ld\nbytes %p\nshorts %p\nints %p\nlongs %p\napart %p\nscattered %p\npacked %p\nwide %p\natomics %p\n",
           COUNT, GAP * 8, (void *)&by_handler, by_handler, (void *)bytes, (void *)shorts, (void *)ints, (void *)longs, (void *)apart,
           (void *)scattered, (void *)packed, (void *)wide, (void *)atomics);
    return sum != 0;
}

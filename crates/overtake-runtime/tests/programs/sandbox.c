// Forbids itself the system calls whose numbers are given, then writes much and starts threads. Whoever calls one dies.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
enum { THREADS = 200, WORDS = 1 << 16 };
static long words[WORDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int counter;
static void *count(void *unused) {
    pthread_mutex_lock(&lock);
    counter++;
    pthread_mutex_unlock(&lock);
    return unused;
}
static void forbid(unsigned number) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) exit(3);
}
int main(int count_of_arguments, char **arguments) {
    printf("counter %p\n", (void *)&counter);
    for (int i = 1; i < count_of_arguments; i++) forbid((unsigned)atoi(arguments[i]));
    for (int round = 0; round < 4; round++)
        for (int i = 0; i < WORDS; i += 8 + round) words[i] = i;
    for (int i = 0; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, 0, count, 0)) return 4;
        pthread_join(thread, 0);
    }
    printf("count %d\n", counter);
    return 0;
}

// Gives up the rights that its arguments name, then writes much and starts threads. A number is a system call that kills from then on.
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
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
static void give_up(const char *what) {
    if (!strcmp(what, "rights") && setuid(65534)) exit(5);
    if (!strcmp(what, "root") && (chroot("/proc") || chdir("/"))) exit(6);
    if (!strcmp(what, "closefrom")) closefrom(3);
    if (!strcmp(what, "close_range") && close_range(3, ~0U, 0)) exit(7);
    if (!strcmp(what, "syscall") && syscall(SYS_close_range, 3, ~0U, 0)) exit(8);
    if (!strcmp(what, "close")) for (int file = 3; file < 2000; file++) close(file);
    if (!strcmp(what, "dup2")) for (int file = 3; file < 1024; file++) dup2(0, file);
    if (what[0] >= '0' && what[0] <= '9') forbid((unsigned)atoi(what));
}
int main(int count_of_arguments, char **arguments) {
    printf("counter %p\n", (void *)&counter);
    for (int i = 1; i < count_of_arguments; i++) give_up(arguments[i]);
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

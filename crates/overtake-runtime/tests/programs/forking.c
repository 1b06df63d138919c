// A program that wants to know when it forks, as tests of ThreadSanitizer do: by libc, and by a system call that it tells us about.
#include <sys/wait.h>
#include <unistd.h>

void __sanitizer_syscall_pre_impl_fork(void);

static int told;
void __tsan_test_only_on_fork(void) { told++; }

int main(void) {
    pid_t child = fork();
    if (child == 0)
        _exit(told == 1 ? 0 : 1);
    int status;
    waitpid(child, &status, 0);
    __sanitizer_syscall_pre_impl_fork();
    return status == 0 && told == 2 ? 0 : 1;
}

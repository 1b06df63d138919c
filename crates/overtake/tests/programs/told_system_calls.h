/* System calls that the program makes by itself, past libc, and tells the sanitizer about. The header is missing if the compiler's own runtime
   is not installed. */
#include <sys/syscall.h>
#include <unistd.h>
long syscall(long number, ...);
void __sanitizer_syscall_pre_impl_read(long, long, long);
void __sanitizer_syscall_post_impl_read(long, long, long, long);
void __sanitizer_syscall_pre_impl_write(long, long, long);
void __sanitizer_syscall_post_impl_write(long, long, long, long);
void __sanitizer_syscall_pre_impl_pipe2(long, long);
void __sanitizer_syscall_post_impl_pipe2(long, long, long);
void __sanitizer_syscall_pre_impl_fork(void);
void __sanitizer_syscall_post_impl_fork(long);
void __sanitizer_syscall_pre_impl_io_submit(long, long, long);
void __sanitizer_syscall_post_impl_io_submit(long, long, long, long);

static inline long told_read(int file, void *buffer, long bytes)
{
    __sanitizer_syscall_pre_impl_read(file, (long)buffer, bytes);
    long result = syscall(SYS_read, file, buffer, bytes);
    __sanitizer_syscall_post_impl_read(result, file, (long)buffer, bytes);
    return result;
}

static inline long told_write(int file, const void *buffer, long bytes)
{
    __sanitizer_syscall_pre_impl_write(file, (long)buffer, bytes);
    long result = syscall(SYS_write, file, buffer, bytes);
    __sanitizer_syscall_post_impl_write(result, file, (long)buffer, bytes);
    return result;
}

static inline long told_pipe(int *ends)
{
    __sanitizer_syscall_pre_impl_pipe2((long)ends, 0);
    long result = syscall(SYS_pipe2, ends, 0);
    __sanitizer_syscall_post_impl_pipe2(result, (long)ends, 0);
    return result;
}

static inline long told_fork(void)
{
    __sanitizer_syscall_pre_impl_fork();
    long result = syscall(SYS_fork);
    __sanitizer_syscall_post_impl_fork(result);
    return result;
}

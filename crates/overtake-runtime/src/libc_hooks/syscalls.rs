//! System calls that the program makes by itself and tells us about: `linux_syscall_hooks.h`. What they order and access is recorded as for libc's
//! functions, for the calls that move data, make or close descriptors, fork, or fill a structure. The others are defined, so that
//! programs can be linked.

use super::files::{
    Part, are_a_pair as paired, closing, is_new, is_same, received, received_parts, replaced, sending,
    sending_parts,
};
use super::real::define;
use super::touch;
use crate::abi;
use crate::process;

/// A structure was filled, if the call succeeded.
fn filled<T>(result: i32, out: usize, pc: usize) {
    if result == 0 && out != 0 {
        touch::<true>(out, size_of::<T>(), pc);
    }
}

/// No handler runs for a child that the kernel was asked for directly.
fn forked(result: i32) {
    if result == 0 {
        process::restart_after_fork();
    }
}

define! {
    // before
    fn __sanitizer_syscall_pre_impl_fork(; pc) { abi::tell_forking(); }
    fn __sanitizer_syscall_pre_impl_write(file: i32, buffer: usize, length: usize; pc) { sending(file, buffer, length, pc); }
    fn __sanitizer_syscall_pre_impl_pwrite64(file: i32, buffer: usize, length: usize; pc) { sending(file, buffer, length, pc); }
    fn __sanitizer_syscall_pre_impl_writev(file: i32, parts: *const Part, count: usize; pc) { sending_parts(file, parts, count, pc); }
    fn __sanitizer_syscall_pre_impl_pwritev(file: i32, parts: *const Part, count: usize; pc) { sending_parts(file, parts, count, pc); }
    fn __sanitizer_syscall_pre_impl_send(file: i32, buffer: usize, length: usize; pc) { sending(file, buffer, length, pc); }
    fn __sanitizer_syscall_pre_impl_sendto(file: i32, buffer: usize, length: usize; pc) { sending(file, buffer, length, pc); }
    fn __sanitizer_syscall_pre_impl_close(file: i32; pc) { closing(file, pc); }

    // after
    fn __sanitizer_syscall_post_impl_read(result: isize, file: i32, buffer: usize; pc) { received(result, file, buffer, pc); }
    fn __sanitizer_syscall_post_impl_pread64(result: isize, file: i32, buffer: usize; pc) { received(result, file, buffer, pc); }
    fn __sanitizer_syscall_post_impl_readv(result: isize, file: i32, parts: *const Part, count: usize; pc) {
        received_parts(result, file, parts, count, pc);
    }
    fn __sanitizer_syscall_post_impl_preadv(result: isize, file: i32, parts: *const Part, count: usize; pc) {
        received_parts(result, file, parts, count, pc);
    }
    fn __sanitizer_syscall_post_impl_recv(result: isize, file: i32, buffer: usize; pc) { received(result, file, buffer, pc); }
    fn __sanitizer_syscall_post_impl_recvfrom(result: isize, file: i32, buffer: usize; pc) { received(result, file, buffer, pc); }
    fn __sanitizer_syscall_post_impl_pipe(result: i32, ends: *const [i32; 2]; pc) { paired(result, ends, pc); }
    fn __sanitizer_syscall_post_impl_pipe2(result: i32, ends: *const [i32; 2]; pc) { paired(result, ends, pc); }
    fn __sanitizer_syscall_post_impl_socketpair(result: i32, domain: i32, kind: i32, protocol: i32, ends: *const [i32; 2]; pc) {
        paired(result, ends, pc);
    }
    fn __sanitizer_syscall_post_impl_dup(result: i32, file: i32; pc) { is_same(result, file as u64, pc); }
    fn __sanitizer_syscall_post_impl_dup2(result: i32, file: i32; pc) { replaced(result, file, pc); }
    fn __sanitizer_syscall_post_impl_dup3(result: i32, file: i32; pc) { replaced(result, file, pc); }
    fn __sanitizer_syscall_post_impl_open(result: i32; pc) { is_new(result, pc); }
    fn __sanitizer_syscall_post_impl_openat(result: i32; pc) { is_new(result, pc); }
    fn __sanitizer_syscall_post_impl_creat(result: i32; pc) { is_new(result, pc); }
    fn __sanitizer_syscall_post_impl_eventfd(result: i32; pc) { is_new(result, pc); }
    fn __sanitizer_syscall_post_impl_eventfd2(result: i32; pc) { is_new(result, pc); }
    fn __sanitizer_syscall_post_impl_fork(result: i32; pc) { forked(result); }
    fn __sanitizer_syscall_post_impl_clock_gettime(result: i32, clock: i32, out: usize; pc) { filled::<libc::timespec>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_clock_getres(result: i32, clock: i32, out: usize; pc) { filled::<libc::timespec>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_gettimeofday(result: i32, out: usize; pc) { filled::<libc::timeval>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_newstat(result: i32, path: usize, out: usize; pc) { filled::<libc::stat>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_newlstat(result: i32, path: usize, out: usize; pc) { filled::<libc::stat>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_newfstat(result: i32, file: i32, out: usize; pc) { filled::<libc::stat>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_newfstatat(result: i32, at: i32, path: usize, out: usize; pc) { filled::<libc::stat>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_sysinfo(result: i32, out: usize; pc) { filled::<libc::sysinfo>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_newuname(result: i32, out: usize; pc) { filled::<libc::utsname>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_getrlimit(result: i32, what: i32, out: usize; pc) { filled::<libc::rlimit>(result, out, pc); }
    fn __sanitizer_syscall_post_impl_getrusage(result: i32, who: i32, out: usize; pc) { filled::<libc::rusage>(result, out, pc); }
}

/// Defines functions that do nothing, for calls whose beginnings or ends say nothing.
macro_rules! without_effect {
    ($($when:literal: $($name:ident)*;)*) => {
        #[cfg(feature = "staticlib")]
        core::arch::global_asm!(
            ".pushsection .text.__sanitizer_syscall,\"ax\",@progbits",
            ".p2align 4",
            $($(
                concat!(".weak __sanitizer_syscall_", $when, "_impl_", stringify!($name)),
                concat!(".type __sanitizer_syscall_", $when, "_impl_", stringify!($name), ", @function"),
                concat!("__sanitizer_syscall_", $when, "_impl_", stringify!($name), ":"),
            )*)*
            "ret",
            ".popsection",
        );
    };
}

macro_rules! neither_has_effect {
    ($($name:ident)*) => { without_effect! { "pre": $($name)*; "post": $($name)*; } };
}

without_effect! {
    "pre":
    clock_getres clock_gettime creat dup dup2 dup3 eventfd eventfd2 getrlimit getrusage gettimeofday newfstat newfstatat
    newlstat newstat newuname open openat pipe pipe2 pread64 preadv read readv recv recvfrom socketpair sysinfo
    ;
    "post":
    close pwrite64 pwritev send sendto write writev
    ;
}

neither_has_effect! {
    accept accept4 access acct add_key adjtimex alarm bdflush bind brk capget capset chdir chmod chown chown16 chroot clock_adjtime
    clock_nanosleep clock_settime connect delete_module epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait exit
    exit_group faccessat fanotify_init fanotify_mark fchdir fchmod fchmodat fchown fchown16 fchownat fcntl fcntl64 fdatasync
    fgetxattr flistxattr flock fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync ftruncate futex futimesat
    get_mempolicy get_robust_list getcpu getcwd getdents getdents64 getegid getegid16 geteuid geteuid16 getgid getgid16 getgroups
    getgroups16 gethostname getitimer getpeername getpgid getpgrp getpid getppid getpriority getresgid getresgid16 getresuid
    getresuid16 getsid getsockname getsockopt gettid getuid getuid16 getxattr init_module inotify_add_watch inotify_init
    inotify_init1 inotify_rm_watch io_cancel io_destroy io_getevents io_setup io_submit ioctl ioperm ioprio_get ioprio_set ipc
    kexec_load keyctl kill lchown lchown16 lgetxattr link linkat listen listxattr llistxattr llseek lookup_dcookie lremovexattr lseek
    lsetxattr lstat lstat64 madvise mbind migrate_pages mincore mkdir mkdirat mknod mknodat mlock mlockall mmap_pgoff mount
    move_pages mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink mremap msgctl msgget msgrcv msgsnd
    msync munlock munlockall munmap name_to_handle_at nanosleep ni_syscall nice old_getrlimit old_mmap old_readdir old_select
    oldumount olduname open_by_handle_at pause pciconfig_iobase pciconfig_read pciconfig_write perf_event_open personality pivot_root
    poll ppoll prlimit64 process_vm_readv process_vm_writev pselect6 ptrace quotactl readlink readlinkat reboot recvmmsg recvmsg
    remap_file_pages removexattr rename renameat request_key restart_syscall rmdir rt_sigaction rt_sigpending rt_sigprocmask
    rt_sigqueueinfo rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min sched_getaffinity sched_getparam
    sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam sched_setscheduler sched_yield select semctl semget
    semop semtimedop sendfile sendfile64 sendmmsg sendmsg set_mempolicy set_robust_list set_tid_address setdomainname setfsgid
    setfsgid16 setfsuid setfsuid16 setgid setgid16 setgroups setgroups16 sethostname setitimer setns setpgid setpriority setregid
    setregid16 setresgid setresgid16 setresuid setresuid16 setreuid setreuid16 setrlimit setsid setsockopt settimeofday setuid
    setuid16 setxattr sgetmask shmat shmctl shmdt shmget shutdown sigaction sigaltstack signal signalfd signalfd4 sigpending
    sigprocmask socket socketcall splice spu_create spu_run ssetmask stat stat64 statfs statfs64 stime swapoff swapon symlink
    symlinkat sync syncfs sysctl sysfs syslog tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_settime
    timerfd_create timerfd_gettime timerfd_settime times tkill truncate umask umount uname unlink unlinkat unshare uselib ustat utime
    utimensat utimes vfork vhangup vmsplice wait4 waitid waitpid
}

//! System calls without libc: they do not change `errno` and do not call functions that we interpose.

mod fd;

use core::arch::asm;
use core::mem::MaybeUninit;

use overtake_rawlog::LOG_IS_FULL;

use crate::sandbox;
pub(crate) use fd::{Fd, Identity};

/// What a failed system call returned, a positive error number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errno(pub(crate) i32);

impl Errno {
    /// The error in words.
    pub(crate) fn reason(self) -> &'static [u8] {
        match self.0 {
            libc::EACCES => b"permission denied",
            libc::EPERM => b"not permitted",
            libc::ENOENT => b"no such file or directory",
            libc::ENOTDIR => b"not a directory",
            libc::EROFS => b"read-only file system",
            libc::EMFILE => b"too many open files, see `ulimit -n`",
            libc::ENFILE => b"too many open files in the system",
            libc::EFBIG => b"file too large, see `ulimit -f`",
            libc::ENOMEM => b"no memory, see `ulimit -v`",
            libc::ENOSPC => b"no space left on the device",
            libc::EDQUOT => b"disk quota exceeded",
            libc::EIO => b"input or output error",
            libc::EBADF => b"the log file was closed",
            libc::ENAMETOOLONG => b"name too long",
            libc::ENOSYS => b"the program's own sandbox forbids it",
            LOG_IS_FULL => b"the log has taken half of the disk's free space",
            _ => b"a system call failed",
        }
    }
}

/// # Safety
/// The call must be sound with these arguments.
#[inline]
unsafe fn syscall6(number: i64, args: [usize; 6]) -> Result<usize, Errno> {
    if sandbox::forbids(number) {
        return Err(sandbox::FORBIDDEN);
    }
    // SAFETY: the caller's promise.
    unsafe { call_kernel(number, args) }
}

/// # Safety
/// As above. The program's own sandbox may kill it for this.
#[inline]
unsafe fn call_kernel(number: i64, args: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    // SAFETY: the kernel's calling convention; rcx and r11 are clobbered, memory may change.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// Private zeroed memory.
pub(crate) fn map_private(bytes: usize) -> Result<*mut u8, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    unsafe { syscall6(libc::SYS_mmap, [0, bytes, protection, flags, usize::MAX, 0]) }.map(|at| at as *mut u8)
}

/// Private zeroed memory of which the first `present` bytes are mapped at once, in one large page if they fill one. Without
/// this, the first read of a page would map the shared page of zeros, and the first write would replace it, which interrupts every
/// other processor that runs the program.
pub(crate) fn map_present(bytes: usize, present: usize) -> Result<*mut u8, Errno> {
    const LARGE_PAGE: usize = 2 << 20;
    let at = if present < LARGE_PAGE {
        map_private(bytes)?
    } else {
        let room = map_private(bytes + LARGE_PAGE)?;
        let skipped = room.align_offset(LARGE_PAGE);
        let at = room.wrapping_add(skipped);
        // SAFETY: unmaps both ends of a fresh mapping, around the part that is used.
        unsafe {
            unmap(room, skipped);
            unmap(at.wrapping_add(bytes), LARGE_PAGE - skipped);
        }
        advise(at, present, libc::MADV_HUGEPAGE);
        at
    };
    advise(at, present, libc::MADV_POPULATE_WRITE);
    Ok(at)
}

/// Advises the kernel about our memory. Kernels that do not know the advice ignore it.
fn advise(at: *mut u8, bytes: usize, advice: i32) {
    // SAFETY: neither advice that is given changes what the memory holds.
    let _ = unsafe { syscall6(libc::SYS_madvise, [at as usize, bytes, advice as usize, 0, 0, 0]) };
}

/// Maps a range of a file, shared, with all pages present.
pub(crate) fn map_file(file: Fd, offset: u64, bytes: usize) -> Result<*mut u8, Errno> {
    map_shared(file, offset, bytes, libc::MAP_SHARED | libc::MAP_POPULATE)
}

/// Maps a range of a file, shared, with pages that become present when they are used.
pub(crate) fn map_file_slowly(file: Fd, offset: u64, bytes: usize) -> Result<*mut u8, Errno> {
    map_shared(file, offset, bytes, libc::MAP_SHARED)
}

/// Zeroed memory that children of this process share with it.
pub(crate) fn map_for_children(bytes: usize) -> Result<*mut u8, Errno> {
    map_shared(Fd(-1), 0, bytes, libc::MAP_SHARED | libc::MAP_ANONYMOUS)
}

fn map_shared(file: Fd, offset: u64, bytes: usize, flags: i32) -> Result<*mut u8, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = flags as usize;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    unsafe { syscall6(libc::SYS_mmap, [0, bytes, protection, flags, file.0 as usize, offset as usize]) }
        .map(|at| at as *mut u8)
}

/// # Safety
/// Nothing may use the range afterwards.
pub(crate) unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. Failure leaves the mapping in place, which is harmless.
    let _ = unsafe { syscall6(libc::SYS_munmap, [at as usize, bytes, 0, 0, 0, 0]) };
}

/// Makes a directory that did not exist, for this user alone. `path` ends in a zero byte.
pub(crate) fn make_directory(path: &[u8]) -> Result<(), Errno> {
    debug_assert_eq!(path.last(), Some(&0));
    // SAFETY: the path is zero-terminated and outlives the call.
    unsafe { syscall6(libc::SYS_mkdir, [path.as_ptr() as usize, 0o700, 0, 0, 0, 0]) }.map(|_| ())
}

/// Removes a file. `path` ends in a zero byte.
pub(crate) fn remove_file(path: &[u8]) {
    debug_assert_eq!(path.last(), Some(&0));
    // SAFETY: the path is zero-terminated and outlives the call.
    let _ = unsafe { syscall6(libc::SYS_unlink, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Whether there is a file that this process may execute. `path` ends in a zero byte.
pub(crate) fn is_executable(path: &[u8]) -> bool {
    debug_assert_eq!(path.last(), Some(&0));
    let mut facts = MaybeUninit::<libc::stat>::uninit();
    let (here, at) = (libc::AT_FDCWD as usize, path.as_ptr() as usize);
    // SAFETY: the path is zero-terminated and outlives the calls; the kernel fills the facts if it succeeds.
    unsafe {
        syscall6(libc::SYS_faccessat, [here, at, libc::X_OK as usize, 0, 0, 0]).is_ok()
            && syscall6(libc::SYS_newfstatat, [here, at, facts.as_mut_ptr() as usize, 0, 0, 0]).is_ok()
            && facts.assume_init_ref().st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// Removes a directory that is empty. `path` ends in a zero byte.
pub(crate) fn remove_directory(path: &[u8]) {
    debug_assert_eq!(path.last(), Some(&0));
    // SAFETY: the path is zero-terminated and outlives the call.
    let _ = unsafe { syscall6(libc::SYS_rmdir, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Whether this thread may read the time-stamp counter.
pub(crate) fn may_read_time_stamps() -> bool {
    let mut state = 0_i32;
    let at = &raw mut state as usize;
    // SAFETY: the kernel fills the state.
    let asked = unsafe { syscall6(libc::SYS_prctl, [libc::PR_GET_TSC as usize, at, 0, 0, 0, 0]) };
    asked.is_err() || state != libc::PR_TSC_SIGSEGV
}

/// A random number that nobody can guess.
pub(crate) fn random() -> u64 {
    let mut number = 0_u64;
    let room = &raw mut number as usize;
    // SAFETY: the kernel fills the number.
    let filled = unsafe {
        syscall6(libc::SYS_getrandom, [room, size_of::<u64>(), libc::GRND_NONBLOCK as usize, 0, 0, 0])
    };
    if filled == Ok(size_of::<u64>()) { number } else { random_of_start() }
}

/// The random number that the kernel passed to the process, for kernels that provide no other.
fn random_of_start() -> u64 {
    // SAFETY: reads what the kernel passed to the process.
    let at = unsafe { libc::getauxval(libc::AT_RANDOM) } as *const u64;
    // SAFETY: the kernel's promise: null, or the address of 16 random bytes.
    if at.is_null() { 0 } else { unsafe { at.read_unaligned() } }
}

/// The process id, past libc's caches.
pub(crate) fn process_id() -> u32 {
    // SAFETY: touches nothing.
    unsafe { syscall6(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// The parent's process id.
pub(crate) fn parent_process_id() -> u32 {
    // SAFETY: touches nothing.
    unsafe { syscall6(libc::SYS_getppid, [0; 6]) }.unwrap_or(0) as u32
}

/// The kernel's id of this thread.
pub(crate) fn kernel_thread_id() -> u32 {
    // SAFETY: touches nothing.
    unsafe { syscall6(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// Whether the process has no other thread. False if that cannot be found out.
pub(crate) fn is_last_thread() -> bool {
    const OWN_LINKS: u64 = 2; // of a directory without others in it
    let mut facts = MaybeUninit::<libc::stat>::uninit();
    let (path, at) = (c"/proc/self/task".as_ptr() as usize, facts.as_mut_ptr() as usize);
    // SAFETY: the path is zero-terminated; the kernel fills the facts if it succeeds.
    unsafe {
        syscall6(libc::SYS_newfstatat, [libc::AT_FDCWD as usize, path, at, 0, 0, 0]).is_ok()
            && facts.assume_init_ref().st_nlink == OWN_LINKS + 1
    }
}

/// Milliseconds since some moment in the past, by a clock that is never set.
pub(crate) fn milliseconds() -> u64 {
    let mut time = [0_i64; 2];
    let at = time.as_mut_ptr() as usize;
    // SAFETY: the kernel fills both numbers.
    let _ = unsafe { syscall6(libc::SYS_clock_gettime, [libc::CLOCK_MONOTONIC as usize, at, 0, 0, 0, 0]) };
    time[0] as u64 * 1000 + time[1] as u64 / 1_000_000
}

/// Stops all threads of this process until somebody continues it.
pub(crate) fn stop_process() {
    // SAFETY: touches no memory.
    let _ = unsafe { syscall6(libc::SYS_kill, [process_id() as usize, libc::SIGSTOP as usize, 0, 0, 0, 0]) };
}

/// Sends this thread a signal.
pub(crate) fn signal_self(signal: i32) {
    let (process, thread) = (process_id() as usize, kernel_thread_id() as usize);
    // SAFETY: touches no memory.
    let _ = unsafe { syscall6(libc::SYS_tgkill, [process, thread, signal as usize, 0, 0, 0]) };
}

/// The largest size that this process may give a file.
fn largest_file() -> u64 {
    limit(libc::RLIMIT_FSIZE).unwrap_or(u64::MAX)
}

/// Whether a descriptor can be written to: of a pipe, whether it is the end for writing.
pub(crate) fn is_for_writing(file: i32) -> bool {
    // SAFETY: touches nothing.
    let flags = unsafe { syscall6(libc::SYS_fcntl, [file as usize, libc::F_GETFL as usize, 0, 0, 0, 0]) };
    flags.is_ok_and(|flags| flags as i32 & libc::O_ACCMODE != libc::O_RDONLY)
}

/// The current value of a resource limit.
pub(crate) fn limit(resource: u32) -> Option<u64> {
    limits(resource).map(|[now, _]| now)
}

/// Lifts the limits that the program set for itself, as far as possible. Writing beyond the size of a file that stays is an error, not the end.
pub(crate) fn lift_limits() {
    set_signal(libc::SIGXFSZ, libc::SIG_IGN);
    let (option, allowed) = (libc::PR_SET_TSC as usize, libc::PR_TSC_ENABLE as usize);
    // SAFETY: touches no memory.
    let _ = unsafe { syscall6(libc::SYS_prctl, [option, allowed, 0, 0, 0, 0]) };
    for resource in [libc::RLIMIT_NOFILE, libc::RLIMIT_FSIZE, libc::RLIMIT_AS] {
        let least = if resource == libc::RLIMIT_NOFILE { 1 << 10 } else { u64::MAX };
        let Some([now, most]) = limits(resource) else { continue };
        // Only root may raise the highest value.
        if now < least && !set_limits(resource, [least, most.max(least)]) {
            set_limits(resource, [most, most]);
        }
    }
}

/// The current value of a resource limit, and the highest that it may have.
fn limits(resource: u32) -> Option<[u64; 2]> {
    let mut limits = [0_u64; 2];
    let at = limits.as_mut_ptr() as usize;
    // SAFETY: the kernel fills both numbers.
    unsafe { syscall6(libc::SYS_prlimit64, [0, resource as usize, 0, at, 0, 0]) }.ok()?;
    Some(limits)
}

fn set_limits(resource: u32, limits: [u64; 2]) -> bool {
    let at = limits.as_ptr() as usize;
    // SAFETY: the kernel reads both numbers.
    unsafe { syscall6(libc::SYS_prlimit64, [0, resource as usize, at, 0, 0, 0]) }.is_ok()
}

/// The working directory.
pub(crate) fn working_directory(buffer: &mut [MaybeUninit<u8>]) -> Option<&[u8]> {
    // SAFETY: the buffer is exclusively ours for the call.
    let length =
        unsafe { syscall6(libc::SYS_getcwd, [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0]) }
            .ok()?;
    filled(buffer, length.checked_sub(1)?) // without the zero
}

/// Where a symbolic link leads. `path` ends in a zero byte.
pub(crate) fn read_link<'a>(path: &[u8], buffer: &'a mut [MaybeUninit<u8>]) -> Option<&'a [u8]> {
    debug_assert_eq!(path.last(), Some(&0));
    let at = buffer.as_mut_ptr() as usize;
    // SAFETY: the path is zero-terminated, the buffer exclusively ours for the call.
    let length = unsafe {
        syscall6(
            libc::SYS_readlinkat,
            [libc::AT_FDCWD as usize, path.as_ptr() as usize, at, buffer.len(), 0, 0],
        )
    };
    filled(buffer, length.ok()?)
}

/// The first bytes of a buffer, which the kernel has filled.
fn filled(buffer: &[MaybeUninit<u8>], length: usize) -> Option<&[u8]> {
    let part = buffer.get(..length)?;
    // SAFETY: the kernel filled this many bytes.
    Some(unsafe { core::slice::from_raw_parts(part.as_ptr().cast(), part.len()) })
}

/// Blocks all signals of this thread while it exists. For short steps only: signals wait.
pub(crate) struct NoSignals {
    before: u64,
}

impl NoSignals {
    /// Takes over from one that was forgotten, perhaps on another thread: its drop restores the mask `before`.
    pub(crate) fn from_mask(before: u64) -> NoSignals {
        NoSignals { before }
    }

    /// The signals that were blocked before.
    pub(crate) fn mask(&self) -> u64 {
        self.before
    }

    pub(crate) fn new() -> NoSignals {
        let all = u64::MAX;
        let mut before = 0_u64;
        let (new, old) = (&raw const all as usize, &raw mut before as usize);
        // SAFETY: both masks have the kernel's size, 8 bytes.
        let _ =
            unsafe { syscall6(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, new, old, 8, 0, 0]) };
        NoSignals { before }
    }
}

impl Drop for NoSignals {
    fn drop(&mut self) {
        let old = &raw const self.before as usize;
        // SAFETY: the mask has the kernel's size.
        let _ = unsafe { syscall6(libc::SYS_rt_sigprocmask, [libc::SIG_SETMASK as usize, old, 0, 8, 0, 0]) };
    }
}

/// Unblocks a signal for this thread. Returns whether it was blocked.
pub(crate) fn unblock(signal: i32) -> bool {
    let set = 1_u64.checked_shl((signal - 1) as u32).unwrap_or(0);
    let mut before = 0_u64;
    let (new, old) = (&raw const set as usize, &raw mut before as usize);
    // SAFETY: both masks have the kernel's size, 8 bytes.
    let _ = unsafe { syscall6(libc::SYS_rt_sigprocmask, [libc::SIG_UNBLOCK as usize, new, old, 8, 0, 0]) };
    before & set != 0
}

/// Waits while the word at `address` is `value`, at most a tenth of a second (so that a lost wake does no harm).
pub(crate) fn wait_while(address: *const u32, value: u32) {
    wait_briefly(address, value, 100_000_000);
}

/// Waits while the word at `address` is `value`, at most so many nanoseconds.
pub(crate) fn wait_briefly(address: *const u32, value: u32, nanoseconds: i64) {
    let time = [0_i64, nanoseconds];
    // SAFETY: the kernel only reads the word.
    let _ = unsafe {
        syscall6(
            libc::SYS_futex,
            [address as usize, libc::FUTEX_WAIT as usize, value as usize, time.as_ptr() as usize, 0, 0],
        )
    };
}

/// Wakes all threads that wait for the word at `address` to change.
pub(crate) fn wake_all(address: *const u32) {
    // SAFETY: touches no memory.
    let _ = unsafe {
        syscall6(libc::SYS_futex, [address as usize, libc::FUTEX_WAKE as usize, i32::MAX as usize, 0, 0, 0])
    };
}

/// Makes a copy of this process with only this thread. Returns 0 in the child. No `fork` handler runs.
///
/// # Safety
/// The child must do nothing but system calls.
pub(crate) unsafe fn bare_fork() -> Result<usize, Errno> {
    // SAFETY: the caller's promise.
    unsafe { syscall6(libc::SYS_clone, [libc::SIGCHLD as usize, 0, 0, 0, 0, 0]) }
}

/// The stack of a child that shares our memory.
struct SharedStack(core::cell::UnsafeCell<[u128; SHARED_STACK_BYTES / 16]>);
const SHARED_STACK_BYTES: usize = 64 << 10;
// SAFETY: one child at a time uses it, see `fork_sharing_memory`.
unsafe impl Sync for SharedStack {}
static SHARED_STACK: SharedStack = SharedStack(core::cell::UnsafeCell::new([0; SHARED_STACK_BYTES / 16]));

/// Starts a child that shares this process's memory, and calls `run` on a stack of its own. This thread waits until the child becomes
/// another program or ends. That works where there is no memory for a copy of the process.
///
/// # Safety
/// At most one thread may call this. `run` must do nothing but system calls.
pub(crate) unsafe fn fork_sharing_memory(
    run: extern "C" fn(usize) -> !,
    argument: usize,
) -> Result<usize, Errno> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let top = SHARED_STACK.0.get() as usize + SHARED_STACK_BYTES;
    let result: isize;
    // SAFETY: the child starts with our registers and an empty stack, which is aligned as a call wants it, and never comes back.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r13",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => result,
            in("rdi") flags as usize,
            in("rsi") top,
            in("rdx") 0,
            in("r10") 0,
            in("r8") 0,
            in("r12") argument,
            in("r13") run,
            lateout("rcx") _,
            lateout("r11") _,
        );
    }
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// Becomes another program; returns only on failure.
///
/// # Safety
/// A zero-terminated path and null-terminated lists of zero-terminated texts.
pub(crate) unsafe fn execute(path: *const u8, arguments: *const *const u8, environment: *const *const u8) {
    // SAFETY: the caller's promise.
    let _ = unsafe {
        syscall6(libc::SYS_execve, [path as usize, arguments as usize, environment as usize, 0, 0, 0])
    };
}

/// Waits for a child and returns its wait status.
pub(crate) fn wait_for(child: usize) -> Result<i32, Errno> {
    let mut status = 0_i32;
    loop {
        // SAFETY: the kernel fills the status.
        match unsafe { syscall6(libc::SYS_wait4, [child, &raw mut status as usize, 0, 0, 0, 0]) } {
            Err(Errno(libc::EINTR)) => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(status),
        }
    }
}

/// Makes it possible to wait for children, even if the program ignores them.
pub(crate) fn reset_child_signal() {
    set_signal(libc::SIGCHLD, libc::SIG_DFL);
}

/// Sets this thread's stack for signals.
pub(crate) fn set_signal_stack(lowest: usize, bytes: usize) {
    let stack = [lowest, 0, bytes]; // the kernel's stack_t: address, flags, size
    // SAFETY: the caller's memory, which is used by handlers that ask for it.
    let _ = unsafe { syscall6(libc::SYS_sigaltstack, [stack.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Sets what happens on a signal: the default, or nothing.
fn set_signal(signal: i32, handler: libc::sighandler_t) {
    let action = [handler as u64, 0, 0, 0]; // the kernel's sigaction: handler, flags, restorer, mask
    // SAFETY: a complete action without a function of ours.
    let _ =
        unsafe { syscall6(libc::SYS_rt_sigaction, [signal as usize, action.as_ptr() as usize, 0, 8, 0, 0]) };
}

/// Ends the process at once.
pub(crate) fn exit_now(code: i32) -> ! {
    loop {
        // SAFETY: does not return.
        let _ = unsafe { call_kernel(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Copies bytes without calling `memcpy`, which we interpose.
///
/// # Safety
/// As `core::ptr::copy_nonoverlapping`.
#[inline]
pub(crate) unsafe fn copy(from: *const u8, to: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise; the direction flag is clear by the calling convention.
    unsafe {
        asm!(
            "rep movsb",
            inout("rcx") bytes => _, inout("rsi") from => _, inout("rdi") to => _,
            options(nostack, preserves_flags),
        );
    }
}

/// Sets whole words to zero, the first word first, without calling `memset`, which we interpose.
///
/// # Safety
/// As `core::ptr::write_bytes`.
#[inline]
pub(crate) unsafe fn clear(to: *mut u8, bytes: usize) {
    debug_assert_eq!(bytes % size_of::<u64>(), 0);
    // SAFETY: the caller's promise; the direction flag is clear by the calling convention.
    unsafe {
        to.cast::<u64>().write_volatile(0);
        asm!(
            "rep stosq",
            inout("rcx") bytes / size_of::<u64>() => _, inout("rdi") to => _, in("rax") 0_u64,
            options(nostack, preserves_flags),
        );
    }
}

//! Functions of libc whose effect is a row of a table: what they read, and what they write if they succeed. A
//! test calls each and compares the log with the row (`tests/programs/table.c`). `letters.rs`, `numbers.rs` and `system.rs` have more of them.
//!
//! Left out on purpose: memory that libc protects by its own locks, and functions of libraries that glibc does not contain (`crypt`, `xdr_int`): a
//! program that looks for them would find ours and nothing behind them.

use core::ffi::c_void;

use super::real::hook;
use super::strings::length;
use super::touch;
use crate::thread;

/// A piece of memory.
#[derive(Clone, Copy)]
pub(super) struct Part {
    address: usize,
    length: usize,
}

impl Part {
    /// Records an access, unless the address is null: many results are optional.
    #[inline]
    pub(super) fn touch<const WRITE: bool>(self, pc: usize) {
        if self.address != 0 {
            touch::<WRITE>(self.address, self.length, pc);
        }
    }

    /// The first address behind it.
    pub(super) fn end(self) -> usize {
        self.address + self.length
    }
}

/// `length` bytes at an address.
#[inline]
pub(super) fn bytes(address: usize, length: usize) -> Part {
    Part { address, length }
}

/// An object of a type.
#[inline]
pub(super) fn of<T>(address: usize) -> Part {
    bytes(address, size_of::<T>())
}

/// A text with the zero at its end.
pub(super) fn text(address: usize) -> Part {
    let is_there = address != 0 && thread::current().is_some();
    bytes(address, if is_there { length(address, usize::MAX) + 1 } else { 0 })
}

/// The bytes of a socket address that were written: its length, but not more than there was room for.
fn socket_address(address: usize, length: usize, room: u32) -> Part {
    bytes(address, if address == 0 { 0 } else { value::<u32>(length).min(room) as usize })
}

/// The value at an address; zero if that is null.
pub(super) fn value<T: Default + Copy>(address: usize) -> T {
    // SAFETY: our caller passes it for libc to read or write, or null.
    unsafe { (address as *const T).as_ref() }.copied().unwrap_or_default()
}

// Whether a result means success.
pub(super) fn zero(result: i32) -> bool {
    result == 0
}
pub(super) fn natural<T: PartialOrd + Default>(result: T) -> bool {
    result >= T::default()
}
/// Whether a result is a time: any value but -1, because times before 1970 are negative.
fn valid(result: i64) -> bool {
    result != -1
}
pub(super) fn there(result: usize) -> bool {
    result != 0
}

/// One row for each function: its arguments, the descriptor that it uses (in a way that orders nothing), what it reads, which results mean that it has
/// written, and what it wrote.
macro_rules! effects {
    ($(fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty
        $(, uses $used:ident)? $(, reads $read:expr)? $(, if $success:ident writes $written:expr)?;)*) => {
        hook! {$(
            fn $name($($argument: $type),*; pc) -> $result {
                $($crate::libc_hooks::files::used($used, pc);)?
                $(for part in $read { part.touch::<false>(pc); })?
                let result = real($($argument),*);
                $(if $success(result) {
                    #[allow(clippy::redundant_closure_call, clippy::redundant_closure, reason = "the row names the result")]
                    for part in ($written)(result) { part.touch::<true>(pc); }
                })?
                result
            }
        )*}
    };
}
pub(super) use effects;

type Time = libc::timespec;

effects! {
    fn stat(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn stat64(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn lstat(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn lstat64(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn fstat(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::stat>(out)];
    fn fstat64(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::stat>(out)];
    fn fstatat(at: i32, path: usize, out: usize, flags: i32) -> i32, reads [text(path)],
        if zero writes |_| [of::<libc::stat>(out)];
    fn fstatat64(at: i32, path: usize, out: usize, flags: i32) -> i32, reads [text(path)],
        if zero writes |_| [of::<libc::stat>(out)];
    fn statfs(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::statfs>(out)];
    fn statfs64(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::statfs>(out)];
    fn fstatfs(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::statfs>(out)];
    fn fstatfs64(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::statfs>(out)];
    fn statvfs(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::statvfs>(out)];
    fn statvfs64(path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::statvfs>(out)];
    fn fstatvfs(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::statvfs>(out)];
    fn fstatvfs64(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::statvfs>(out)];

    fn getcwd(out: usize, room: usize) -> usize, if there writes |result| [text(result)];
    fn readlink(path: usize, out: usize, room: usize) -> isize, reads [text(path)],
        if natural writes |result| [bytes(out, result as usize)];
    fn readlinkat(at: i32, path: usize, out: usize, room: usize) -> isize, reads [text(path)],
        if natural writes |result| [bytes(out, result as usize)];
    fn realpath(path: usize, out: usize) -> usize, reads [text(path)], if there writes |result| [text(result)];
    fn gethostname(out: usize, room: usize) -> i32, if zero writes |_| [text(out)];
    fn getdomainname(out: usize, room: usize) -> i32, if zero writes |_| [text(out)];
    fn ttyname_r(file: i32, out: usize, room: usize) -> i32, uses file, if zero writes |_| [text(out)];
    fn ptsname_r(file: i32, out: usize, room: usize) -> i32, uses file, if zero writes |_| [text(out)];
    fn getlogin_r(out: usize, room: usize) -> i32, if zero writes |_| [text(out)];
    fn strerror_r(number: i32, out: usize, room: usize) -> usize,
        if there writes |result| [if result == out { text(out) } else { bytes(0, 0) }];
    fn __xpg_strerror_r(number: i32, out: usize, room: usize) -> i32, if zero writes |_| [text(out)];

    fn clock_gettime(clock: i32, out: usize) -> i32, if zero writes |_| [of::<Time>(out)];
    fn clock_getres(clock: i32, out: usize) -> i32, if zero writes |_| [of::<Time>(out)];
    fn timespec_get(out: usize, base: i32) -> i32, if natural writes |_| [of::<Time>(out)];
    fn gettimeofday(out: usize, zone: usize) -> i32,
        if zero writes |_| [of::<libc::timeval>(out), of::<[i32; 2]>(zone)];
    fn time(out: usize) -> i64, if valid writes |_| [of::<i64>(out)];
    fn times(out: usize) -> i64, if valid writes |_| [of::<libc::tms>(out)];
    fn nanosleep(time: usize, out: usize) -> i32, reads [of::<Time>(time)];
    fn clock_nanosleep(clock: i32, flags: i32, time: usize, out: usize) -> i32, reads [of::<Time>(time)];
    fn localtime_r(time: usize, out: usize) -> usize, reads [of::<i64>(time)], if there writes |_| [of::<libc::tm>(out)];
    fn gmtime_r(time: usize, out: usize) -> usize, reads [of::<i64>(time)], if there writes |_| [of::<libc::tm>(out)];
    fn localtime(time: usize) -> usize, reads [of::<i64>(time)], if there writes |result| [of::<libc::tm>(result)];
    fn gmtime(time: usize) -> usize, reads [of::<i64>(time)], if there writes |result| [of::<libc::tm>(result)];
    fn ctime_r(time: usize, out: usize) -> usize, reads [of::<i64>(time)], if there writes |result| [text(result)];
    fn ctime(time: usize) -> usize, reads [of::<i64>(time)], if there writes |result| [text(result)];
    fn asctime_r(time: usize, out: usize) -> usize, reads [of::<libc::tm>(time)], if there writes |result| [text(result)];
    fn asctime(time: usize) -> usize, reads [of::<libc::tm>(time)], if there writes |result| [text(result)];
    fn mktime(time: usize) -> i64, reads [of::<libc::tm>(time)], if valid writes |_| [of::<libc::tm>(time)];
    fn timegm(time: usize) -> i64, reads [of::<libc::tm>(time)], if valid writes |_| [of::<libc::tm>(time)];
    fn strftime(out: usize, room: usize, format: usize, time: usize) -> usize, reads [text(format), of::<libc::tm>(time)],
        if there writes |result| [bytes(out, result + 1)];
    fn strptime(input: usize, format: usize, out: usize) -> usize, reads [text(format)],
        if there writes |_| [of::<libc::tm>(out)];

    fn uname(out: usize) -> i32, if zero writes |_| [of::<libc::utsname>(out)];
    fn sysinfo(out: usize) -> i32, if zero writes |_| [of::<libc::sysinfo>(out)];
    fn getrusage(who: i32, out: usize) -> i32, if zero writes |_| [of::<libc::rusage>(out)];
    fn getrlimit(what: i32, out: usize) -> i32, if zero writes |_| [of::<libc::rlimit>(out)];
    fn getrlimit64(what: i32, out: usize) -> i32, if zero writes |_| [of::<libc::rlimit>(out)];
    fn getgroups(room: i32, out: usize) -> i32, if natural writes |result| [bytes(if room > 0 { out } else { 0 }, result as usize * 4)];
    fn getresuid(first: usize, second: usize, third: usize) -> i32,
        if zero writes |_| [of::<u32>(first), of::<u32>(second), of::<u32>(third)];
    fn getresgid(first: usize, second: usize, third: usize) -> i32,
        if zero writes |_| [of::<u32>(first), of::<u32>(second), of::<u32>(third)];
    fn getpwnam_r(name: usize, out: usize, buffer: usize, room: usize, result: usize) -> i32, reads [text(name)],
        if zero writes |_| [of::<usize>(result), of::<libc::passwd>(value::<usize>(result))];
    fn getpwuid_r(user: u32, out: usize, buffer: usize, room: usize, result: usize) -> i32,
        if zero writes |_| [of::<usize>(result), of::<libc::passwd>(value::<usize>(result))];
    fn getgrnam_r(name: usize, out: usize, buffer: usize, room: usize, result: usize) -> i32, reads [text(name)],
        if zero writes |_| [of::<usize>(result), of::<libc::group>(value::<usize>(result))];
    fn getgrgid_r(group: u32, out: usize, buffer: usize, room: usize, result: usize) -> i32,
        if zero writes |_| [of::<usize>(result), of::<libc::group>(value::<usize>(result))];
    fn getloadavg(out: usize, count: i32) -> i32, if natural writes |result| [bytes(out, result as usize * 8)];
    fn getitimer(which: i32, out: usize) -> i32, if zero writes |_| [of::<libc::itimerval>(out)];
    fn setitimer(which: i32, time: usize, out: usize) -> i32, reads [of::<libc::itimerval>(time)],
        if zero writes |_| [of::<libc::itimerval>(out)];
    fn timerfd_gettime(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::itimerspec>(out)];
    fn timerfd_settime(file: i32, flags: i32, time: usize, out: usize) -> i32, uses file, reads [of::<libc::itimerspec>(time)],
        if zero writes |_| [of::<libc::itimerspec>(out)];
    fn sched_getaffinity(process: i32, room: usize, out: usize) -> i32, if zero writes |_| [bytes(out, room)];
    fn sched_getparam(process: i32, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn getrandom(out: usize, room: usize, flags: u32) -> isize, if natural writes |result| [bytes(out, result as usize)];
    fn getentropy(out: usize, room: usize) -> i32, if zero writes |_| [bytes(out, room)];
    fn rand_r(seed: usize) -> i32, reads [of::<u32>(seed)], if natural writes |_| [of::<u32>(seed)];

    fn wait(out: usize) -> i32, if natural writes |_| [of::<i32>(out)];
    fn waitpid(process: i32, out: usize, flags: i32) -> i32, if natural writes |_| [of::<i32>(out)];
    fn wait3(out: usize, flags: i32, usage: usize) -> i32, if natural writes |_| [of::<i32>(out), of::<libc::rusage>(usage)];
    fn wait4(process: i32, out: usize, flags: i32, usage: usize) -> i32,
        if natural writes |_| [of::<i32>(out), of::<libc::rusage>(usage)];
    fn waitid(kind: i32, process: u32, out: usize, flags: i32) -> i32, if zero writes |_| [of::<libc::siginfo_t>(out)];

    fn sigemptyset(out: usize) -> i32, if zero writes |_| [of::<libc::sigset_t>(out)];
    fn sigfillset(out: usize) -> i32, if zero writes |_| [of::<libc::sigset_t>(out)];
    fn sigpending(out: usize) -> i32, if zero writes |_| [of::<libc::sigset_t>(out)];
    fn sigprocmask(how: i32, set: usize, out: usize) -> i32, reads [of::<libc::sigset_t>(set)],
        if zero writes |_| [of::<libc::sigset_t>(out)];
    fn pthread_sigmask(how: i32, set: usize, out: usize) -> i32, reads [of::<libc::sigset_t>(set)],
        if zero writes |_| [of::<libc::sigset_t>(out)];

    fn bind(file: i32, address: usize, length: u32) -> i32, uses file, reads [bytes(address, length as usize)];
    fn setsockopt(file: i32, level: i32, option: i32, value: usize, length: u32) -> i32, uses file,
        reads [bytes(value, length as usize)];
    fn getsockopt(file: i32, level: i32, option: i32, out: usize, length: usize) -> i32, uses file, reads [of::<u32>(length)],
        if zero writes |_| [of::<u32>(length), bytes(out, value::<u32>(length) as usize)];
    fn inet_pton(family: i32, input: usize, out: usize) -> i32, reads [text(input)],
        if positive writes |_| [bytes(out, if family == libc::AF_INET { 4 } else { 16 })];
    fn inet_ntop(family: i32, input: usize, out: usize, room: u32) -> usize,
        reads [bytes(input, if family == libc::AF_INET { 4 } else { 16 })], if there writes |result| [text(result)];
    fn inet_aton(input: usize, out: usize) -> i32, reads [text(input)], if positive writes |_| [of::<u32>(out)];
    fn getaddrinfo(name: usize, service: usize, hints: usize, out: usize) -> i32, reads [text(name), text(service)],
        if zero writes |_| [of::<usize>(out)];
    fn getnameinfo(address: usize, length: u32, host: usize, host_room: u32, service: usize, service_room: u32, flags: i32) -> i32,
        reads [bytes(address, length as usize)],
        if zero writes |_| [text(if host_room > 0 { host } else { 0 }), text(if service_room > 0 { service } else { 0 })];
    fn getxattr(path: usize, name: usize, out: usize, room: usize) -> isize, reads [text(path), text(name)],
        if natural writes |result| [bytes(if room > 0 { out } else { 0 }, result as usize)];
    fn lgetxattr(path: usize, name: usize, out: usize, room: usize) -> isize, reads [text(path), text(name)],
        if natural writes |result| [bytes(if room > 0 { out } else { 0 }, result as usize)];
    fn fgetxattr(file: i32, name: usize, out: usize, room: usize) -> isize, uses file, reads [text(name)],
        if natural writes |result| [bytes(if room > 0 { out } else { 0 }, result as usize)];

    fn pthread_attr_getguardsize(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<usize>(out)];
    fn pthread_attr_getscope(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_attr_getstacksize(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<usize>(out)];
    fn pthread_mutexattr_gettype(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_mutexattr_getpshared(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_getschedparam(thread: usize, policy: usize, out: usize) -> i32,
        if zero writes |_| [of::<i32>(policy), of::<i32>(out)];

    fn pthread_attr_getdetachstate(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_attr_getinheritsched(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_attr_getschedpolicy(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_attr_getschedparam(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_barrierattr_getpshared(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_condattr_getclock(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_condattr_getpshared(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_mutexattr_getprotocol(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_mutexattr_getrobust(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_rwlockattr_getkind_np(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_rwlockattr_getpshared(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_attr_getaffinity_np(attributes: usize, room: usize, out: usize) -> i32, if zero writes |_| [bytes(out, room)];
    fn pthread_getaffinity_np(thread: usize, room: usize, out: usize) -> i32, if zero writes |_| [bytes(out, room)];
    fn pthread_getcpuclockid(thread: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_getname_np(thread: usize, out: usize, room: usize) -> i32, if zero writes |_| [text(out)];
    fn pthread_setcancelstate(state: i32, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_setcanceltype(kind: i32, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn clock_getcpuclockid(process: i32, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn clock_settime(clock: i32, time: usize) -> i32, reads [of::<Time>(time)];
    fn confstr(name: i32, out: usize, room: usize) -> usize, if there writes |result: usize| [bytes(out, result.min(room))];
    fn random_r(state: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn lrand48_r(state: usize, out: usize) -> i32, if zero writes |_| [of::<i64>(out)];
    fn drand48_r(state: usize, out: usize) -> i32, if zero writes |_| [of::<f64>(out)];
    fn tcgetattr(file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::termios>(out)];
    fn mincore(address: usize, length: usize, out: usize) -> i32, if zero writes |_| [bytes(out, length.div_ceil(4096))];
    fn tmpnam_r(out: usize) -> usize, if there writes |result| [text(result)];
    fn strxfrm(out: usize, input: usize, room: usize) -> usize, reads [text(input)],
        if there writes |result| [bytes(if result < room { out } else { 0 }, result + 1)];
    fn backtrace(out: usize, most: i32) -> i32, if natural writes |result| [bytes(out, result as usize * 8)];
    fn getifaddrs(out: usize) -> i32, if zero writes |_| [of::<usize>(out)];
    fn if_indextoname(index: u32, out: usize) -> usize, if there writes |result| [text(result)];
    fn if_nametoindex(name: usize) -> u32, reads [text(name)];
    fn ether_aton_r(input: usize, out: usize) -> usize, reads [text(input)], if there writes |result| [bytes(result, 6)];
    fn ether_ntoa_r(input: usize, out: usize) -> usize, reads [bytes(input, 6)], if there writes |result| [text(result)];
    fn gethostbyname_r(name: usize, out: usize, buffer: usize, room: usize, result: usize, error: usize) -> i32,
        reads [text(name)], if zero writes |_| [of::<usize>(result), of::<libc::hostent>(value::<usize>(result))];
    fn listxattr(path: usize, out: usize, room: usize) -> isize, reads [text(path)],
        if natural writes |result| [bytes(if room > 0 { out } else { 0 }, result as usize)];
    fn llistxattr(path: usize, out: usize, room: usize) -> isize, reads [text(path)],
        if natural writes |result| [bytes(if room > 0 { out } else { 0 }, result as usize)];
    fn flistxattr(file: i32, out: usize, room: usize) -> isize, uses file,
        if natural writes |result| [bytes(if room > 0 { out } else { 0 }, result as usize)];
    fn access(path: usize, mode: i32) -> i32, reads [text(path)];
    fn faccessat(at: i32, path: usize, mode: i32, flags: i32) -> i32, reads [text(path)];

    fn readdir(directory: usize) -> usize, if there writes |result| [entry(result)];
    fn readdir64(directory: usize) -> usize, if there writes |result| [entry(result)];
    fn fgetpos(stream: usize, out: usize) -> i32, if zero writes |_| [bytes(out, 16)];
    fn fgetpos64(stream: usize, out: usize) -> i32, if zero writes |_| [bytes(out, 16)];
}

pub(super) fn positive(result: i32) -> bool {
    result > 0
}

/// A directory entry, which contains its length.
fn entry(address: usize) -> Part {
    let at = address as *const libc::dirent;
    // SAFETY: libc returned it.
    bytes(address, usize::from(unsafe { (*at).d_reclen }))
}

/// A call that asks for the address of a socket: `length` has the size of the room before, and the length of the address afterwards.
fn address_asked(address: usize, length: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let room = value::<u32>(length);
    of::<u32>(length).touch::<false>(pc);
    let result = real();
    if result >= 0 {
        address_told(address, length, room, pc);
    }
    result
}

pub(super) fn address_told(address: usize, length: usize, room: u32, pc: usize) {
    of::<u32>(length).touch::<true>(pc);
    socket_address(address, length, room).touch::<true>(pc);
}

/// Parses a number in a text by calling `real` with a place for the end of the number.
fn number<T>(input: usize, end: *mut usize, pc: usize, real: impl FnOnce(*mut usize) -> T) -> T {
    let mut own_end = input;
    let result = real(&raw mut own_end);
    bytes(input, own_end - input + 1).touch::<false>(pc);
    if !end.is_null() {
        // SAFETY: our caller passes it for libc to write.
        unsafe { *end = own_end };
        of::<usize>(end as usize).touch::<true>(pc);
    }
    result
}

hook! {
    fn getsockname(file: i32, address: usize, length: usize; pc) -> i32 {
        address_asked(address, length, pc, || real(file, address, length))
    }
    fn getpeername(file: i32, address: usize, length: usize; pc) -> i32 {
        address_asked(address, length, pc, || real(file, address, length))
    }
    fn strtod(input: usize, end: *mut usize; pc) -> f64 { number(input, end, pc, |end| real(input, end)) }
    fn strtof(input: usize, end: *mut usize; pc) -> f32 { number(input, end, pc, |end| real(input, end)) }
}

/// Functions that parse a whole number.
macro_rules! whole_numbers {
    ($($name:ident: $type:ty;)*) => {
        hook! {$(
            fn $name(input: usize, end: *mut usize, base: i32; pc) -> $type {
                number(input, end, pc, |end| real(input, end, base))
            }
        )*}
    };
}

// Headers since glibc 2.38 call the functions of C23 by these names.
whole_numbers! {
    strtol: i64;
    strtoll: i64;
    strtoul: u64;
    strtoull: u64;
    strtoimax: i64;
    strtoumax: u64;
    __isoc23_strtol: i64;
    __isoc23_strtoll: i64;
    __isoc23_strtoul: u64;
    __isoc23_strtoull: u64;
    __isoc23_strtoimax: i64;
    __isoc23_strtoumax: u64;
}

/// Records an access to a part of memory by a conversion of formatted text.
pub(super) fn touch_part<const WRITE: bool>(part: Part, pc: usize) {
    part.touch::<WRITE>(pc);
}

/// The address of an argument list in the layout of the calling convention.
pub(super) type List = *mut c_void;

//! Functions for users, hosts, terminals, mounted file systems and processes: what they read and write, as in `effects.rs`. Many return something
//! that libc overwrites at the next call, of any thread: that is a write of it.

use super::effects::{Part, bytes, effects, natural, of, text, there, value, zero};
use super::files::{Part as Buffer, is_new, touch_parts};
use super::real::{Real, hook};
use super::touch;

/// The elements of a list that ends with null, and the texts that they point to.
fn texts(list: usize) -> impl Iterator<Item = Part> {
    let mut at = list;
    let cells = core::iter::from_fn(move || {
        let cell = at;
        let text = value::<usize>(cell);
        at += size_of::<usize>();
        (text != 0).then_some((cell, text))
    });
    cells.flat_map(|(cell, address)| [of::<usize>(cell), text(address)])
}

/// As [`texts`], of a list that has `count` elements.
fn counted_texts(list: usize, count: i32) -> impl Iterator<Item = Part> {
    texts(list).take(2 * count.max(0) as usize)
}

/// What describes a mounted file system: the structure, and the four texts that its first fields point to.
fn mounted(address: usize) -> impl Iterator<Item = Part> {
    let texts = (0..4).map(move |number| text(value::<usize>(address + number * size_of::<usize>())));
    texts.chain([of::<libc::mntent>(address)])
}

/// A handle of a file, whose first field says how long it is.
fn handle(address: usize) -> Part {
    bytes(address, 8 + value::<u32>(address) as usize)
}

/// The results of `gethostent` and the like begin with a name, a list of other names and two numbers; networks, protocols and services need less.
const NETWORK_ENTRY: usize = 24;
/// Where a protocol's number ends.
const PROTOCOL: usize = 20;
const SERVICE: usize = 32;
/// Who is logged in.
type Login = libc::utmpx;
/// The header that says which process, and its version 3 of the sets.
const CAPABILITIES_OF: usize = 8;
const CAPABILITIES: usize = 24;

effects! {
    fn getpwnam(name: usize) -> usize, reads [text(name)], if there writes |result| [of::<libc::passwd>(result)];
    fn getpwuid(user: u32) -> usize, if there writes |result| [of::<libc::passwd>(result)];
    fn getpwent() -> usize, if there writes |result| [of::<libc::passwd>(result)];
    fn fgetpwent(stream: usize) -> usize, if there writes |result| [of::<libc::passwd>(result)];
    fn getgrnam(name: usize) -> usize, reads [text(name)], if there writes |result| [of::<libc::group>(result)];
    fn getgrgid(group: u32) -> usize, if there writes |result| [of::<libc::group>(result)];
    fn getgrent() -> usize, if there writes |result| [of::<libc::group>(result)];
    fn fgetgrent(stream: usize) -> usize, if there writes |result| [of::<libc::group>(result)];
    fn initgroups(name: usize, group: u32) -> i32, reads [text(name)];
    fn getpass(prompt: usize) -> usize, reads [text(prompt)], if there writes |result| [text(result)];
    fn getusershell() -> usize, if there writes |result| [text(result)];

    fn getutent() -> usize, if there writes |result| [of::<Login>(result)];
    fn getutxent() -> usize, if there writes |result| [of::<Login>(result)];
    fn getutid(login: usize) -> usize, reads [of::<Login>(login)], if there writes |result| [of::<Login>(result)];
    fn getutxid(login: usize) -> usize, reads [of::<Login>(login)], if there writes |result| [of::<Login>(result)];
    fn getutline(login: usize) -> usize, reads [of::<Login>(login)], if there writes |result| [of::<Login>(result)];
    fn getutxline(login: usize) -> usize, reads [of::<Login>(login)], if there writes |result| [of::<Login>(result)];
    fn pututline(login: usize) -> usize, reads [of::<Login>(login)];
    fn pututxline(login: usize) -> usize, reads [of::<Login>(login)];

    fn gethostbyaddr_r(address: usize, length: u32, family: i32, out: usize, buffer: usize, room: usize, result: usize, error: usize) -> i32,
        reads [bytes(address, length as usize)],
        if zero writes |_| [of::<usize>(result), of::<libc::hostent>(value::<usize>(result))];
    fn getnetbyname(name: usize) -> usize, reads [text(name)], if there writes |result| [bytes(result, NETWORK_ENTRY)];
    fn getnetbyaddr(network: u32, family: i32) -> usize, if there writes |result| [bytes(result, NETWORK_ENTRY)];
    fn getnetent() -> usize, if there writes |result| [bytes(result, NETWORK_ENTRY)];
    fn getprotobyname(name: usize) -> usize, reads [text(name)], if there writes |result| [bytes(result, PROTOCOL)];
    fn getprotobynumber(number: i32) -> usize, if there writes |result| [bytes(result, PROTOCOL)];
    fn getprotoent() -> usize, if there writes |result| [bytes(result, PROTOCOL)];
    fn getservbyname(name: usize, protocol: usize) -> usize, reads [text(name), text(protocol)],
        if there writes |result| [bytes(result, SERVICE)];
    fn getservbyport(port: i32, protocol: usize) -> usize, reads [text(protocol)], if there writes |result| [bytes(result, SERVICE)];
    fn getservent() -> usize, if there writes |result| [bytes(result, SERVICE)];
    fn ether_aton(input: usize) -> usize, reads [text(input)], if there writes |result| [bytes(result, 6)];
    fn ether_ntoa(input: usize) -> usize, reads [bytes(input, 6)], if there writes |result| [text(result)];
    fn dn_expand(message: usize, end: usize, from: usize, out: usize, room: i32) -> i32, if natural writes |_| [text(out)];
    fn dn_comp(name: usize, out: usize, room: i32, known: usize, last: usize) -> i32, reads [text(name)],
        if natural writes |result| [bytes(out, result as usize)];

    fn listen(file: i32, waiting: i32) -> i32, uses file;
    fn ctermid(out: usize) -> usize, if there writes |result| [text(result)];
    fn ttyname(file: i32) -> usize, uses file, if there writes |result| [text(result)];
    fn ptsname(file: i32) -> usize, uses file, if there writes |result| [text(result)];
    fn getmntent(stream: usize) -> usize, if there writes |result| mounted(result);
    fn getmntent_r(stream: usize, out: usize, buffer: usize, room: i32) -> usize, if there writes |_| mounted(out);
    fn setlocale(category: i32, name: usize) -> usize, reads [text(name)];
    fn textdomain(name: usize) -> usize, reads [text(name)];
    fn open_memstream(place: usize, length: usize) -> usize, if there writes |_| [of::<usize>(place), of::<usize>(length)];
    fn open_wmemstream(place: usize, length: usize) -> usize, if there writes |_| [of::<usize>(place), of::<usize>(length)];

    fn posix_spawn(process: usize, path: usize, actions: usize, attributes: usize, arguments: usize, environment: usize) -> i32,
        reads texts(arguments).chain([text(path)]), if zero writes |_| [of::<i32>(process)];
    fn posix_spawnp(process: usize, file: usize, actions: usize, attributes: usize, arguments: usize, environment: usize) -> i32,
        reads texts(arguments).chain([text(file)]), if zero writes |_| [of::<i32>(process)];
    fn argp_parse(options: usize, count: i32, arguments: usize, flags: u32, index: usize, input: usize) -> i32,
        reads counted_texts(arguments, count);
    fn capget(of_whom: usize, out: usize) -> i32, reads [bytes(of_whom, CAPABILITIES_OF)],
        if zero writes |_| [bytes(out, CAPABILITIES)];
    fn capset(of_whom: usize, sets: usize) -> i32, reads [bytes(of_whom, CAPABILITIES_OF), bytes(sets, CAPABILITIES)];
    fn pthread_mutexattr_getprioceiling(attributes: usize, out: usize) -> i32, if zero writes |_| [of::<i32>(out)];
    fn pthread_attr_getstack(attributes: usize, out: usize, length: usize) -> i32,
        if zero writes |_| [of::<usize>(out), of::<usize>(length)];

    // Programs that were compiled with headers of glibc before 2.33 call `stat` and the like by these names.
    fn __xstat(version: i32, path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn __xstat64(version: i32, path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn __lxstat(version: i32, path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn __lxstat64(version: i32, path: usize, out: usize) -> i32, reads [text(path)], if zero writes |_| [of::<libc::stat>(out)];
    fn __fxstat(version: i32, file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::stat>(out)];
    fn __fxstat64(version: i32, file: i32, out: usize) -> i32, uses file, if zero writes |_| [of::<libc::stat>(out)];
    fn __fxstatat(version: i32, at: i32, path: usize, out: usize, flags: i32) -> i32, reads [text(path)],
        if zero writes |_| [of::<libc::stat>(out)];
    fn __fxstatat64(version: i32, at: i32, path: usize, out: usize, flags: i32) -> i32, reads [text(path)],
        if zero writes |_| [of::<libc::stat>(out)];
}

/// What a request of `ptrace` reads or writes at its last argument: how many bytes, and whether it writes.
fn traced(request: i32, data: usize) -> Option<(Part, bool)> {
    const REGISTERS: usize = 27 * 8;
    const FLOATING_POINT: usize = 512;
    Some(match request as u32 {
        libc::PTRACE_GETREGS => (bytes(data, REGISTERS), true),
        libc::PTRACE_SETREGS => (bytes(data, REGISTERS), false),
        libc::PTRACE_GETFPREGS => (bytes(data, FLOATING_POINT), true),
        libc::PTRACE_SETFPREGS => (bytes(data, FLOATING_POINT), false),
        libc::PTRACE_GETSIGINFO => (of::<libc::siginfo_t>(data), true),
        libc::PTRACE_SETSIGINFO => (of::<libc::siginfo_t>(data), false),
        libc::PTRACE_GETEVENTMSG => (of::<usize>(data), true),
        _ => return None,
    })
}

hook! {
    /// The text is cut behind the part that is returned; where the last one ended, libc remembers.
    fn strtok(input: usize, separators: usize; pc) -> usize {
        text(separators).touch::<false>(pc);
        let part = real(input, separators);
        text(part).touch::<false>(pc);
        part
    }
    fn strtok_r(input: usize, separators: usize, rest: *mut usize; pc) -> usize {
        text(separators).touch::<false>(pc);
        if input == 0 {
            of::<usize>(rest as usize).touch::<false>(pc);
        }
        cut(real(input, separators, rest), rest as usize, value(rest as usize), pc)
    }
    fn strsep(rest: *mut usize, separators: usize; pc) -> usize {
        text(separators).touch::<false>(pc);
        of::<usize>(rest as usize).touch::<false>(pc);
        cut(real(rest, separators), rest as usize, value(rest as usize), pc)
    }
    fn process_vm_readv(process: i32, parts: *const Buffer, count: usize, others: usize, other_count: usize, flags: usize; pc) -> isize {
        let result = real(process, parts, count, others, other_count, flags);
        // SAFETY: libc just filled them.
        unsafe { touch_parts::<true>(parts, count, result.max(0) as usize, pc) };
        result
    }
    fn process_vm_writev(process: i32, parts: *const Buffer, count: usize, others: usize, other_count: usize, flags: usize; pc) -> isize {
        // SAFETY: libc is about to read them.
        unsafe { touch_parts::<false>(parts, count, usize::MAX, pc) };
        real(process, parts, count, others, other_count, flags)
    }
    fn ptrace(request: i32, process: i32, address: usize, data: usize; pc) -> i64 {
        let touched = traced(request, data);
        if let Some((part, false)) = touched {
            part.touch::<false>(pc);
        }
        let result = real(request, process, address, data);
        if result >= 0 && let Some((part, true)) = touched {
            part.touch::<true>(pc);
        }
        result
    }
    fn open_by_handle_at(mount: i32, file: usize, flags: i32; pc) -> i32 {
        handle(file).touch::<false>(pc);
        is_new(real(mount, file, flags), pc)
    }
}

/// A text was divided: `part` was read with its end, what is left begins at `left`, and a zero was written between them.
fn cut(part: usize, rest: usize, left: usize, pc: usize) -> usize {
    of::<usize>(rest).touch::<true>(pc);
    if part != 0 {
        let part = text(part);
        part.touch::<false>(pc);
        if left == part.end() {
            touch::<true>(left - 1, 1, pc);
        }
    }
    part
}

/// Where the stack of a thread with these attributes is: its lowest address and its size. Not by our own hook.
pub(crate) fn stack_of(attributes: *const libc::pthread_attr_t) -> Option<(usize, usize)> {
    #[used]
    #[unsafe(link_section = "overtake_real")]
    static REAL: Real = Real::new("pthread_attr_getstack\0");
    type Function = unsafe extern "C" fn(*const libc::pthread_attr_t, *mut usize, *mut usize) -> i32;
    let (mut low, mut size) = (0, 0);
    // SAFETY: the type is that of libc's function, and our caller passes initialised attributes.
    let result = unsafe {
        core::mem::transmute::<*mut core::ffi::c_void, Function>(REAL.address())(
            attributes,
            &raw mut low,
            &raw mut size,
        )
    };
    (result == 0).then_some((low, size))
}

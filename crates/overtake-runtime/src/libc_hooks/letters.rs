//! Functions for wide texts, for other encodings, for patterns, for paths, and for names of users and hosts: what they read and write, as in
//! `effects.rs`.

use super::effects::{Part, bytes, effects, natural, of, positive, text, there, value, zero};
use super::real::hook;
use super::strings::length;

/// How many letters a wide text has among its first `most`.
fn letters(address: usize, most: usize) -> usize {
    let mut count = 0;
    // SAFETY: our caller passes such a text. Volatile, so that compilers do not make a call of this.
    while count < most && unsafe { (address as *const u32).add(count).read_volatile() } != 0 {
        count += 1;
    }
    count
}

/// A text of wide letters, with the zero at its end if that is among the first `most`. Nothing if there is none.
pub(super) fn wide(address: usize, most: usize) -> Part {
    let count = if address == 0 { 0 } else { letters(address, most) };
    bytes(address, count.saturating_add(1).min(most).saturating_mul(4))
}

/// How many bytes of a text a conversion wrote: `result` units and a zero, if there is room for it; nothing if it failed or only counted.
fn converted(out: usize, result: usize, room: usize, unit: usize) -> Part {
    let units = if result == usize::MAX { 0 } else { result.saturating_add(1).min(room) };
    bytes(if units == 0 { 0 } else { out }, units * unit)
}

/// A text that may end after `most` bytes without a zero.
fn text_within(address: usize, most: usize) -> Part {
    let length = if address == 0 { 0 } else { length(address, most) };
    bytes(address, length.saturating_add(1).min(most))
}

/// What a transformation wrote: a text of `result` units, if there is room for it and its zero.
fn transformed(out: usize, result: usize, room: usize, unit: usize) -> Part {
    bytes(if result < room { out } else { 0 }, result.saturating_add(1).saturating_mul(unit))
}

/// Whether a conversion did not fail.
fn done(result: usize) -> bool {
    result != usize::MAX
}

/// A compiled pattern.
type Pattern = libc::regex_t;

/// Where matches are written, unless the pattern was compiled without them.
fn matches(pattern: usize, out: usize, count: usize) -> Part {
    const FLAGS_AT: usize = 56;
    const WITHOUT_MATCHES: u8 = 1 << 4;
    // SAFETY: our caller passes a compiled pattern.
    let flags = unsafe { *((pattern + FLAGS_AT) as *const u8) };
    bytes(if flags & WITHOUT_MATCHES == 0 { out } else { 0 }, count * size_of::<libc::regmatch_t>())
}

const ALL: usize = usize::MAX;

effects! {
    fn wcslen(input: usize) -> usize, reads [wide(input, ALL)];
    fn wcsnlen(input: usize, most: usize) -> usize, reads [wide(input, most)];
    fn wcscpy(out: usize, input: usize) -> usize, reads [wide(input, ALL)], if there writes |_| [wide(out, ALL)];
    fn wcsncpy(out: usize, input: usize, most: usize) -> usize, reads [wide(input, most)],
        if there writes |_| [bytes(out, most * 4)];
    fn wcscat(out: usize, input: usize) -> usize, reads [wide(input, ALL), wide(out, ALL)],
        if there writes |_| [tail(out, input, ALL)];
    fn wcsncat(out: usize, input: usize, most: usize) -> usize, reads [wide(input, most), wide(out, ALL)],
        if there writes |_| [tail(out, input, most)];
    fn wcsdup(input: usize) -> usize, reads [wide(input, ALL)], if there writes |result| [wide(result, ALL)];
    fn wcschr(input: usize, letter: i32) -> usize, reads [wide(input, ALL)];
    fn wcsrchr(input: usize, letter: i32) -> usize, reads [wide(input, ALL)];
    fn wmemcpy(out: usize, input: usize, count: usize) -> usize, reads [bytes(input, count * 4)],
        if there writes |_| [bytes(out, count * 4)];
    fn wmemmove(out: usize, input: usize, count: usize) -> usize, reads [bytes(input, count * 4)],
        if there writes |_| [bytes(out, count * 4)];
    fn wmemset(out: usize, letter: i32, count: usize) -> usize, if there writes |_| [bytes(out, count * 4)];
    fn wmemcmp(first: usize, second: usize, count: usize) -> i32, reads [bytes(first, count * 4), bytes(second, count * 4)];
    fn mbstowcs(out: usize, input: usize, room: usize) -> usize, reads [text(input)],
        if done writes |result| [converted(out, result, room, 4)];
    fn wcstombs(out: usize, input: usize, room: usize) -> usize, reads [wide(input, ALL)],
        if done writes |result| [converted(out, result, room, 1)];
    fn mbsrtowcs(out: usize, input: usize, room: usize, state: usize) -> usize, reads [of::<usize>(input), text(value(input))],
        if done writes |result| [converted(out, result, room, 4), of::<usize>(if out == 0 { 0 } else { input })];
    fn wcsrtombs(out: usize, input: usize, room: usize, state: usize) -> usize,
        reads [of::<usize>(input), wide(value(input), ALL)],
        if done writes |result| [converted(out, result, room, 1), of::<usize>(if out == 0 { 0 } else { input })];
    fn mbsnrtowcs(out: usize, input: usize, most: usize, room: usize, state: usize) -> usize,
        reads [of::<usize>(input), text_within(value(input), most)],
        if done writes |result| [converted(out, result, room, 4), of::<usize>(if out == 0 { 0 } else { input })];
    fn wcsnrtombs(out: usize, input: usize, most: usize, room: usize, state: usize) -> usize,
        reads [of::<usize>(input), wide(value(input), most)],
        if done writes |result| [converted(out, result, room, 1), of::<usize>(if out == 0 { 0 } else { input })];
    fn wcsxfrm(out: usize, input: usize, room: usize) -> usize, reads [wide(input, ALL)],
        if done writes |result| [transformed(out, result, room, 4)];
    fn wcsxfrm_l(out: usize, input: usize, room: usize, locale: usize) -> usize, reads [wide(input, ALL)],
        if done writes |result| [transformed(out, result, room, 4)];
    fn strxfrm_l(out: usize, input: usize, room: usize, locale: usize) -> usize, reads [text(input)],
        if done writes |result| [transformed(out, result, room, 1)];
    fn wcrtomb(out: usize, letter: u32, state: usize) -> usize, if done writes |result| [bytes(out, result)];
    fn wctomb(out: usize, letter: u32) -> i32, if natural writes |result| [bytes(out, result as usize)];

    fn glob(pattern: usize, flags: i32, on_error: usize, out: usize) -> i32, reads [text(pattern)],
        if zero writes |_| [of::<libc::glob_t>(out)];
    fn glob64(pattern: usize, flags: i32, on_error: usize, out: usize) -> i32, reads [text(pattern)],
        if zero writes |_| [of::<libc::glob_t>(out)];
    fn wordexp(words: usize, out: usize, flags: i32) -> i32, reads [text(words)], if zero writes |_| [of::<[usize; 3]>(out)];
    fn regcomp(out: usize, pattern: usize, flags: i32) -> i32, reads [text(pattern)], if zero writes |_| [of::<Pattern>(out)];
    fn regexec(pattern: usize, input: usize, count: usize, out: usize, flags: i32) -> i32,
        reads [of::<Pattern>(pattern), text(if flags & REG_STARTEND == 0 { input } else { 0 })],
        if zero writes |_| [matches(pattern, out, count)];
    fn regerror(code: i32, pattern: usize, out: usize, room: usize) -> usize,
        if positive_size writes |result: usize| [bytes(out, result.min(room))];
    fn fnmatch(pattern: usize, input: usize, flags: i32) -> i32, reads [text(pattern), text(input)];
    fn canonicalize_file_name(path: usize) -> usize, reads [text(path)], if there writes |result| [text(result)];
    fn name_to_handle_at(at: i32, path: usize, handle: usize, mount: usize, flags: i32) -> i32, reads [text(path)],
        if zero writes |_| [bytes(handle, 8 + value::<u32>(handle) as usize), of::<i32>(mount)];
    fn shmctl(memory: i32, command: i32, out: usize) -> i32,
        if natural writes |_| [of::<libc::shmid_ds>(if command == libc::IPC_STAT { out } else { 0 })];
    fn get_current_dir_name() -> usize, if there writes |result| [text(result)];
    fn tmpnam(out: usize) -> usize, if there writes |result| [text(result)];
    fn tempnam(directory: usize, prefix: usize) -> usize, reads [text(directory), text(prefix)],
        if there writes |result| [text(result)];
    fn readdir_r(directory: usize, out: usize, result: usize) -> i32, if zero writes |_| [of::<usize>(result)];
    fn readdir64_r(directory: usize, out: usize, result: usize) -> i32, if zero writes |_| [of::<usize>(result)];
    fn scandir(path: usize, out: usize, chosen: usize, order: usize) -> i32, reads [text(path)],
        if natural writes |_| [of::<usize>(out)];
    fn scandir64(path: usize, out: usize, chosen: usize, order: usize) -> i32, reads [text(path)],
        if natural writes |_| [of::<usize>(out)];
    fn getpwent_r(out: usize, buffer: usize, room: usize, result: usize) -> i32,
        if zero writes |_| [of::<usize>(result), of::<libc::passwd>(out)];
    fn getgrent_r(out: usize, buffer: usize, room: usize, result: usize) -> i32,
        if zero writes |_| [of::<usize>(result), of::<libc::group>(out)];
    fn fgetpwent_r(stream: usize, out: usize, buffer: usize, room: usize, result: usize) -> i32,
        if zero writes |_| [of::<usize>(result), of::<libc::passwd>(out)];
    fn fgetgrent_r(stream: usize, out: usize, buffer: usize, room: usize, result: usize) -> i32,
        if zero writes |_| [of::<usize>(result), of::<libc::group>(out)];
    fn getprotobyname_r(name: usize, out: usize, buffer: usize, room: usize, result: usize) -> i32, reads [text(name)],
        if zero writes |_| [of::<usize>(result)];
    fn getprotobynumber_r(number: i32, out: usize, buffer: usize, room: usize, result: usize) -> i32,
        if zero writes |_| [of::<usize>(result)];
    fn getservbyname_r(name: usize, protocol: usize, out: usize, buffer: usize, room: usize, result: usize) -> i32,
        reads [text(name), text(protocol)], if zero writes |_| [of::<usize>(result)];
    fn gethostbyname2_r(name: usize, family: i32, out: usize, buffer: usize, room: usize, result: usize, error: usize) -> i32,
        reads [text(name)], if zero writes |_| [of::<usize>(result), of::<libc::hostent>(value::<usize>(result))];
    fn gethostent_r(out: usize, buffer: usize, room: usize, result: usize, error: usize) -> i32,
        if zero writes |_| [of::<usize>(result), of::<libc::hostent>(value::<usize>(result))];
    fn gethostbyname(name: usize) -> usize, reads [text(name)], if there writes |result| [of::<libc::hostent>(result)];
    fn gethostbyname2(name: usize, family: i32) -> usize, reads [text(name)],
        if there writes |result| [of::<libc::hostent>(result)];
    fn gethostbyaddr(address: usize, length: u32, family: i32) -> usize, reads [bytes(address, length as usize)],
        if there writes |result| [of::<libc::hostent>(result)];
    fn gethostent() -> usize, if there writes |result| [of::<libc::hostent>(result)];
    fn getprotoent_r(out: usize, buffer: usize, room: usize, result: usize) -> i32, if zero writes |_| [of::<usize>(result)];
    fn ether_hostton(name: usize, out: usize) -> i32, reads [text(name)], if zero writes |_| [bytes(out, 6)];
    fn ether_ntohost(out: usize, input: usize) -> i32, reads [bytes(input, 6)], if zero writes |_| [text(out)];
    fn ether_line(line: usize, address: usize, name: usize) -> i32, reads [text(line)],
        if zero writes |_| [bytes(address, 6), text(name)];
    fn getgrouplist(name: usize, group: u32, out: usize, count: usize) -> i32, reads [text(name), of::<i32>(count)],
        if positive writes |result| [bytes(out, result as usize * 4), of::<i32>(count)];
    fn sigandset(out: usize, first: usize, second: usize) -> i32, if zero writes |_| [of::<libc::sigset_t>(out)];
    fn sigorset(out: usize, first: usize, second: usize) -> i32, if zero writes |_| [of::<libc::sigset_t>(out)];
    fn backtrace_symbols(frames: usize, count: i32) -> usize, reads [bytes(frames, count.max(0) as usize * 8)];
}

/// The text of `regexec` is given by its first match, and need not end with a zero.
const REG_STARTEND: i32 = 4;

fn positive_size(result: usize) -> bool {
    result > 0
}

/// What was appended: the last letters of `out`, as many as there are in the first `most` of `input`, and a zero.
fn tail(out: usize, input: usize, most: usize) -> Part {
    let [whole, added] = [letters(out, ALL), letters(input, most)];
    bytes(out + whole.saturating_sub(added) * 4, (added + 1) * 4)
}

/// Reads two wide texts up to where they differ.
fn read_both(first: usize, second: usize, most: usize, pc: usize) {
    // SAFETY: our caller passes such texts. Volatile, so that compilers do not make a call of this.
    let letter = |text: usize, at: usize| unsafe { (text as *const u32).add(at).read_volatile() };
    let mut at = 0;
    while at < most {
        let (one, other) = (letter(first, at), letter(second, at));
        at += 1;
        if one == 0 || one != other {
            break;
        }
    }
    bytes(first, at * 4).touch::<false>(pc);
    bytes(second, at * 4).touch::<false>(pc);
}

/// The places at which a conversion begins: where the rest of the text is, and how long it is.
struct Rest {
    at: *mut usize,
    left: *mut usize,
}

impl Rest {
    /// What is there now; `None` if the caller passes nothing.
    fn now(&self) -> Option<(usize, usize)> {
        // SAFETY: our caller passes both, or null.
        unsafe { Some((*self.at.as_ref()?, *self.left.as_ref()?)) }.filter(|(text, _)| *text != 0)
    }

    /// The conversion went from where it was `before`: both places were written, and a part of the text was read or written.
    fn moved<const WRITE: bool>(&self, before: Option<(usize, usize)>, pc: usize) {
        if let (Some((text, left)), Some((_, now))) = (before, self.now()) {
            of::<usize>(self.at as usize).touch::<true>(pc);
            of::<usize>(self.left as usize).touch::<true>(pc);
            bytes(text, left - now.min(left)).touch::<WRITE>(pc);
        }
    }
}

hook! {
    fn wcscmp(first: usize, second: usize; pc) -> i32 {
        read_both(first, second, ALL, pc);
        real(first, second)
    }
    fn wcsncmp(first: usize, second: usize, most: usize; pc) -> i32 {
        read_both(first, second, most, pc);
        real(first, second, most)
    }
    fn iconv(descriptor: usize, input: *mut usize, left: *mut usize, out: *mut usize, room: *mut usize; pc) -> usize {
        let (from, to) = (Rest { at: input, left }, Rest { at: out, left: room });
        let before = (from.now(), to.now());
        let result = real(descriptor, input, left, out, room);
        from.moved::<false>(before.0, pc);
        to.moved::<true>(before.1, pc);
        result
    }
    fn regfree(pattern: usize; pc) {
        of::<Pattern>(pattern).touch::<true>(pc);
        real(pattern)
    }
    fn qsort(base: usize, count: usize, size: usize, compare: usize; pc) {
        bytes(base, count.saturating_mul(size)).touch::<false>(pc);
        real(base, count, size, compare);
        bytes(base, count.saturating_mul(size)).touch::<true>(pc);
    }
    fn qsort_r(base: usize, count: usize, size: usize, compare: usize, context: usize; pc) {
        bytes(base, count.saturating_mul(size)).touch::<false>(pc);
        real(base, count, size, compare, context);
        bytes(base, count.saturating_mul(size)).touch::<true>(pc);
    }
    /// Requests that say by themselves how much they pass in which direction, and those of terminals and sockets that are older than that.
    fn ioctl(file: i32, request: u64, argument: usize; pc) -> i32 {
        let (given, taken) = passed(request);
        bytes(if given == 0 { 0 } else { argument }, given).touch::<false>(pc);
        let result = real(file, request, argument);
        if result >= 0 {
            bytes(if taken == 0 { 0 } else { argument }, taken).touch::<true>(pc);
        }
        result
    }
}

/// Requests about network interfaces.
const INTERFACE_FIRST: u64 = 0x8913;
const INTERFACE_LAST: u64 = 0x8949;
const GET_FILE_FLAGS: u64 = 0x8008_6601;
const SET_FILE_FLAGS: u64 = 0x4008_6602;

/// How many bytes a request passes to the kernel, and how many it gets.
fn passed(request: u64) -> (usize, usize) {
    match request {
        libc::TCGETS => (0, 36),
        libc::TCSETS | libc::TCSETSW | libc::TCSETSF => (36, 0),
        libc::TIOCGWINSZ => (0, size_of::<libc::winsize>()),
        libc::TIOCSWINSZ => (size_of::<libc::winsize>(), 0),
        libc::FIONREAD | libc::TIOCOUTQ | libc::TIOCGPGRP | libc::TIOCGSID => (0, 4),
        libc::FIONBIO | libc::FIOASYNC | libc::TIOCSPGRP => (4, 0),
        libc::SIOCGIFCONF => (16, 16),
        INTERFACE_FIRST..=INTERFACE_LAST => {
            let asks = matches!(request & 0xff, 0x13 | 0x15 | 0x17 | 0x19 | 0x1b | 0x1d | 0x21 | 0x27 | 0x33);
            (size_of::<libc::ifreq>(), if asks { size_of::<libc::ifreq>() } else { 0 })
        }
        // Their numbers say eight bytes.
        GET_FILE_FLAGS => (0, 4),
        SET_FILE_FLAGS => (4, 0),
        _ => {
            let (size, direction) = ((request >> 16 & 0x3fff) as usize, request >> 30 & 3);
            let in_direction = |bit: u64| if direction & bit == 0 { 0 } else { size };
            (in_direction(1), in_direction(2))
        }
    }
}

//! The end of a program that was started directly, not by `overtake run`: it hands its log over to an `overtake`, which reports.
//!
//! That is the one in `OVERTAKE_BIN`, else the one that built the program (`overtake_built_by`, a zero-terminated text that the
//! compiler wrapper links in), else the one in `PATH`.
//!
//! Children that `fork` made report for themselves. They share a byte with the first process, in which they note what came of it, so that
//! a program whose child raced does not end with 0. A process that becomes another program reports before, and tells the other program
//! by a variable of the environment what came of it, if there is anything to tell.

use core::arch::asm;
use core::ffi::c_char;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, Ordering};

use crate::abi;
use crate::environment;
use crate::process;
use crate::sandbox;
use crate::sys::{self, Errno, Fd};
use crate::text::Text;

/// Exit code of a run with races, unless options say otherwise.
const RACE_EXIT_CODE: i32 = 66;
/// Exit code of a run that was not checked, or only in part.
const UNCHECKED_EXIT_CODE: i32 = 1;
/// Exit code of the child that finds no `overtake`; shells use the same for a command that is not found.
const NOT_FOUND: i32 = 127;

/// The result of handing over the log.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Fine,
    Races,
    /// It was not checked, or only in part, and a message said why.
    Unchecked,
}

impl Outcome {
    const fn bit(self) -> u8 {
        match self {
            Outcome::Fine => 0,
            Outcome::Races => 1,
            Outcome::Unchecked => 2,
        }
    }
}

/// What processes of the program came to, a bit each, in memory that children share. Null where there is none.
static FAMILY: AtomicPtr<AtomicU8> = AtomicPtr::new(core::ptr::null_mut());
static FIRST_PROCESS: AtomicU32 = AtomicU32::new(0);

/// What this process came to before it became this program: its number, and bits of outcomes. Only where there is something to tell.
const BEFORE_EXEC: &[u8] = b"OVERTAKE_BEFORE_EXEC";

/// From now on, children of this process tell it what they came to.
pub(crate) fn start_family() {
    let before = environment::take(BEFORE_EXEC).map_or(0, outcome_before);
    if let Ok(byte) = sys::map_for_children(size_of::<AtomicU8>()) {
        let byte: *mut AtomicU8 = byte.cast();
        // SAFETY: a fresh mapping.
        unsafe { &*byte }.store(before, Ordering::Relaxed);
        FIRST_PROCESS.store(process::id(), Ordering::Relaxed);
        FAMILY.store(byte, Ordering::Release);
    }
}

/// What this process came to before. A child of a program that is not ours has the variable as well, but another number.
fn outcome_before(value: &[u8]) -> u8 {
    let mut parts = value.split(|byte| *byte == b'.').map(environment::number);
    let is_own = parts.next() == Some(u64::from(process::id()));
    if is_own { parts.next().unwrap_or(0) as u8 } else { 0 }
}

/// The environment for the program that this process becomes, after it came to this.
pub(crate) fn environment_after(outcome: Outcome, given: usize) -> usize {
    if outcome == Outcome::Fine {
        return given;
    }
    let mut text = Text::new();
    text.push(BEFORE_EXEC).push(b"=").push_number(u64::from(process::id())).push(b".");
    text.push_number(u64::from(outcome.bit()));
    let Some(text) = text.terminated() else { return given };
    let (mut entry, mut count) = (given as *const *const c_char, 0);
    // SAFETY: a list of texts that ends with null, or null itself.
    unsafe {
        while !entry.is_null() && !(*entry).is_null() {
            (entry, count) = (entry.add(1), count + 1);
        }
    }
    let list_bytes = (count + 2) * size_of::<usize>();
    let Ok(room) = sys::map_private(list_bytes + text.len()) else { return given };
    let list: *mut *const c_char = room.cast();
    // SAFETY: the new list has room for the entries, one more and the end (zero); the text lies behind it.
    unsafe {
        sys::copy(given as *const u8, room, count * size_of::<usize>());
        sys::copy(text.as_ptr(), room.wrapping_add(list_bytes), text.len());
        list.add(count).write(room.wrapping_add(list_bytes).cast());
    }
    list as usize
}

/// Notes what this process came to. Returns what it ends with: the first process with the worst of those that ended before it.
fn with_family(own: Outcome) -> Outcome {
    let family = FAMILY.load(Ordering::Acquire);
    if family.is_null() {
        return own;
    }
    // SAFETY: the memory stays mapped.
    let before = unsafe { &*family }.fetch_or(own.bit(), Ordering::Relaxed);
    let is_first = FIRST_PROCESS.load(Ordering::Relaxed) == process::id();
    let worst = [Outcome::Races, Outcome::Unchecked]
        .into_iter()
        .find(|worse| (before | own.bit()) & worse.bit() != 0);
    worst.filter(|_| is_first).unwrap_or(own)
}

/// Hands the log over and waits for the report, unless the program was started by `overtake run`. Returns the exit code with which the
/// process must end instead of `code`, because there were races, or because there may be races that were not checked. `flushes` says
/// whether libc is about to write the buffers of streams; then they are written before the report. A process that ends without flushing,
/// perhaps a child with a copy of its parent's buffers, does not write them.
pub(crate) fn hand_over(flushes: bool, code: i32) -> Option<i32> {
    if !process::is_started_directly() {
        if process::is_recording() {
            abi::is_failure(false);
        }
        return None;
    }
    let outcome = if process::is_unrecorded() {
        Outcome::Unchecked
    } else if process::is_recording() {
        if flushes {
            flush_output();
        }
        report()
    } else {
        return None;
    };
    let outcome = with_family(outcome);
    let for_races = environment::race_exit_code().unwrap_or(RACE_EXIT_CODE);
    match abi::is_failure(outcome == Outcome::Races) {
        true if for_races != 0 => Some(for_races),
        _ => (outcome == Outcome::Unchecked && code == 0).then_some(UNCHECKED_EXIT_CODE),
    }
}

/// Lets an `overtake` report before the process becomes another program or dies of a signal. Returns what the process came to.
pub(crate) fn report_early() -> Outcome {
    with_family(report())
}

/// What this process came to before, and children that ended before, if it had no races itself.
pub(crate) fn earlier() -> Outcome {
    with_family(Outcome::Fine)
}

/// Whether the log was handed over. A process may die of a signal while it ends, after that.
static IS_HANDED_OVER: AtomicBool = AtomicBool::new(false);

/// In a child process: it will have a log of its own.
pub(crate) fn restart_after_fork() {
    IS_HANDED_OVER.store(false, Ordering::Relaxed);
}

/// Lets an `overtake` report.
fn report() -> Outcome {
    if IS_HANDED_OVER.swap(true, Ordering::Relaxed) {
        return Outcome::Fine;
    }
    process::close_log();
    let mut log = Text::new();
    log.push(process::directory().unwrap_or_default());
    let Some(log) = log.terminated() else { return leave_log(Errno(libc::ENAMETOOLONG)) };
    sys::reset_child_signal();
    // SAFETY: the child does nothing but look for a program and become it.
    let child = match unsafe { sys::bare_fork() } {
        Ok(0) => be_overtake(log),
        // SAFETY: the same; this is done once.
        Err(Errno(libc::ENOMEM)) => unsafe {
            sys::fork_sharing_memory(be_overtake_at, &raw const log as usize)
        },
        other => other,
    };
    let child = match child {
        Ok(child) => child,
        Err(error) => return leave_log(error),
    };
    let ended = sys::wait_for(child);
    if !process::has_standard_error() {
        remove_empty_report();
    }
    match ended {
        Ok(status) if libc::WIFEXITED(status) => match libc::WEXITSTATUS(status) {
            0 => Outcome::Fine,
            RACE_EXIT_CODE => Outcome::Races,
            NOT_FOUND => leave_log(Errno(libc::ENOENT)),
            UNCHECKED_EXIT_CODE => Outcome::Unchecked,
            _ => leave_log(Errno(libc::EINTR)),
        },
        Ok(_) => leave_log(Errno(libc::EINTR)),
        Err(error) => leave_log(error),
    }
}

extern "C" fn be_overtake_at(log: usize) -> ! {
    // SAFETY: the thread that waits for us passes the address of its variable.
    be_overtake(unsafe { &*(log as *const &[u8]) })
}

/// In the child: becomes the `overtake` that reports the log.
fn be_overtake(log: &[u8]) -> ! {
    if !process::has_standard_error() {
        move_standard_error();
    }
    sys::lift_limits();
    become_overtake(log);
    sys::exit_now(NOT_FOUND)
}

/// Writes what the program printed, without locks: another thread may hold one for ever.
fn flush_output() {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
        fn fflush_unlocked(file: *mut libc::FILE) -> i32;
    }
    // SAFETY: the process is ending; libc does the same a moment later.
    unsafe { fflush_unlocked(stdout) };
}

/// The program uses descriptor 2 for a file of its own. The report goes to the terminal, if there is one, else into a file beside the
/// log.
fn move_standard_error() {
    let mut path = Text::new();
    let new = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
    let report = Fd::open(b"/dev/tty\0", libc::O_WRONLY)
        .or_else(|error| report_path(&mut path).map_or(Err(error), |path| Fd::open(path, new)));
    match report {
        Ok(report) => report.replace(Fd(2)),
        Err(_) => Fd(2).close(),
    }
}

/// The file for a report that can go nowhere else.
fn report_path(path: &mut Text) -> Option<&[u8]> {
    path.push(process::directory().unwrap_or_default()).push(b".report").terminated()
}

/// Removes the file of a report if it is empty.
fn remove_empty_report() {
    let mut path = Text::new();
    let Some(path) = report_path(&mut path) else { return };
    if let Ok(report) = Fd::open(path, libc::O_RDONLY) {
        let mut room = [core::mem::MaybeUninit::uninit(); 1];
        if report.read_into(&mut room) == Ok(0) {
            sys::remove_file(path);
        }
        report.close();
    }
}

/// No `overtake` reports: says why, and how to get the report later.
fn leave_log(reason: Errno) -> Outcome {
    let log = process::directory().unwrap_or_default();
    let reason = if sandbox::is_filtered() { sandbox::FORBIDDEN } else { reason };
    let why: [&[u8]; 3] = match reason.0 {
        libc::ENOENT if !is_there(log) => {
            [b"no overtake can be started to report races: the program sees other directories than at its start", b"", b""]
        }
        libc::ENOENT => [b"no overtake found to report races", b"", b""],
        libc::EINTR => [b"the overtake that should report races died, perhaps for want of memory", b"", b""],
        _ => [b"no overtake can be started to report races (", reason.reason(), b")"],
    };
    process::say(&[why[0], why[1], why[2], b"; see them with: overtake finish ", log]);
    Outcome::Unchecked
}

/// Whether a directory can be found: after `chroot` it cannot.
fn is_there(directory: &[u8]) -> bool {
    let mut path = Text::new();
    let opened =
        path.push(directory).terminated().map(|path| Fd::open(path, libc::O_PATH | libc::O_DIRECTORY));
    match opened {
        Some(Ok(directory)) => {
            directory.close();
            true
        }
        _ => false,
    }
}

fn become_overtake(log: &[u8]) {
    if let Some(path) = environment::setting(b"OVERTAKE_BIN").filter(|path| !path.is_empty()) {
        return execute(&[path], log);
    }
    if let Some(path) = built_by() {
        execute(&[path], log);
    }
    for directory in environment::setting(b"PATH").unwrap_or_default().split(|byte| *byte == b':') {
        execute(&[directory, b"/overtake"], log);
    }
}

/// Becomes the program at a path given in parts. Returns if there is no such program.
fn execute(path: &[&[u8]], log: &[u8]) {
    let mut text = Text::new();
    for part in path {
        text.push(part);
    }
    let Some(path) = text.terminated() else { return };
    let arguments = [path.as_ptr(), c"finish".as_ptr().cast(), log.as_ptr(), core::ptr::null()];
    // SAFETY: all texts are zero-terminated, the lists end with null.
    unsafe { sys::execute(path.as_ptr(), arguments.as_ptr(), environment::variables().cast()) };
}

/// The path that the compiler wrapper left in the program.
fn built_by() -> Option<&'static [u8]> {
    let text: *const c_char;
    // SAFETY: loads an address; null if no object of the program defines the symbol.
    unsafe {
        asm!(
            ".weak overtake_built_by",
            "mov {text}, qword ptr [rip + overtake_built_by@GOTPCREL]",
            text = out(reg) text,
            options(nostack, preserves_flags, readonly),
        );
        (!text.is_null()).then(|| process::bytes(text)).filter(|path| !path.is_empty())
    }
}

//! The end of a program that was started directly, not by `overtake run`: its log goes to an `overtake` that reports.
//!
//! Which one: `OVERTAKE_BIN`, else the one that built the program (`overtake_built_by`, a zero-terminated text that its
//! compiler wrapper links in), else the one in `PATH`.

use core::arch::asm;
use core::ffi::c_char;

use crate::abi;
use crate::environment;
use crate::process;
use crate::sys::{self, Fd};
use crate::text::Text;

/// Exit code of a run with races, unless options say otherwise.
const RACE_EXIT_CODE: i32 = 66;
/// Exit code of the child that finds no `overtake`: what shells say for a command that is not found.
const NOT_FOUND: i32 = 127;

/// Hands the log over and waits for the report, unless whoever started the program does. The exit code that the process must
/// end with because there were races. `flushes` says whether libc is about to write what is in the buffers of streams: then that
/// comes before the report. A process that ends without it, perhaps a child with a copy of its parent's buffers, does not write it.
pub(crate) fn hand_over(flushes: bool) -> Option<i32> {
    if !process::is_recording() || !process::is_started_directly() {
        return None;
    }
    if flushes {
        flush_output();
    }
    let raced = report();
    let code = environment::race_exit_code().unwrap_or(RACE_EXIT_CODE);
    (abi::is_failure(raced) && code != 0).then_some(code)
}

/// Lets an `overtake` report. Whether there were races.
fn report() -> bool {
    let mut log = Text::new();
    log.push(process::directory().unwrap_or_default());
    let Some(log) = log.terminated() else { return false };
    sys::reset_child_signal();
    // SAFETY: the child does nothing but look for a program and become it.
    let child = match unsafe { sys::bare_fork() } {
        Ok(0) => {
            if !process::has_standard_error() {
                move_standard_error();
            }
            become_overtake(log);
            sys::exit_now(NOT_FOUND)
        }
        Ok(child) => child,
        Err(_) => return leave_log(),
    };
    match sys::wait_for(child) {
        Ok(status) if libc::WIFEXITED(status) && libc::WEXITSTATUS(status) != NOT_FOUND => {
            libc::WEXITSTATUS(status) == RACE_EXIT_CODE
        }
        _ => leave_log(),
    }
}

/// Writes what the program printed. Without locks: another thread may hold one for ever.
fn flush_output() {
    unsafe extern "C" {
        static stdout: *mut libc::FILE;
        fn fflush_unlocked(file: *mut libc::FILE) -> i32;
    }
    // SAFETY: the process is ending; libc does the same a moment later.
    unsafe { fflush_unlocked(stdout) };
}

/// The program made a file of its own of descriptor 2: the report goes to the terminal, if there is one, else into a file beside the
/// log.
fn move_standard_error() {
    let mut path = Text::new();
    path.push(process::directory().unwrap_or_default()).push(b".report");
    let new = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL;
    let report = Fd::open(b"/dev/tty\0", libc::O_WRONLY)
        .or_else(|error| path.terminated().map_or(Err(error), |path| Fd::open(path, new)));
    match report {
        Ok(report) => report.replace(Fd(2)),
        Err(_) => Fd(2).close(),
    }
}

fn leave_log() -> bool {
    let log = process::directory().unwrap_or_default();
    process::say(&[b"no overtake found to report races; see them with: overtake finish ", log]);
    false
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

/// Becomes the program at a path given in parts; returns if there is none.
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

//! `exec`: the process becomes another program, and its log ends.
//!
//! A process that was started directly hands its log over before `exec`, because nobody does it later. If `exec` then fails, that was
//! too early, so it is done only if the new program exists. A process that never had a second thread, as between `fork` and `exec`,
//! cannot race; its log is removed.

use super::arguments::Arguments;
use super::real::{hook, hook_any};
use crate::process::{self, bytes};
use crate::text::Text;
use crate::{environment, hand_over, sys, thread};

/// Which program is meant.
#[derive(Clone, Copy)]
enum Wanted {
    /// The one at a path.
    Path(usize),
    /// The one at a path, or of this name in a directory of `PATH`.
    Name(usize),
    /// One that only the kernel can find.
    Other,
}

/// Becomes another program by calling `real` with an environment; it returns only if that fails.
fn become_another(wanted: Wanted, environment: usize, real: impl FnOnce(usize) -> i32) -> i32 {
    process::finish(b"exec");
    let is_over = process::is_recording() && process::is_started_directly() && is_there(wanted);
    if !is_over {
        return real(environment);
    }
    let is_alone = thread::is_the_only_one() && !process::has_descendants();
    let outcome = if is_alone { hand_over::earlier() } else { hand_over::report_early() };
    if is_alone {
        process::remove_log();
    }
    let result = real(hand_over::environment_after(outcome, environment));
    if is_alone {
        process::restart_after_fork();
    } else {
        process::stop_recording();
    }
    result
}

/// Whether the program exists and can be executed.
fn is_there(wanted: Wanted) -> bool {
    let (address, is_searched) = match wanted {
        Wanted::Path(path) => (path, false),
        Wanted::Name(name) => (name, true),
        Wanted::Other => return true,
    };
    if address == 0 {
        return false;
    }
    // SAFETY: our caller passes a zero-terminated text.
    let name = unsafe { bytes(address as *const _) };
    if !is_searched || name.contains(&b'/') {
        return is_executable(&[name]);
    }
    let path = environment::setting(b"PATH").unwrap_or(b"/bin:/usr/bin");
    path.split(|byte| *byte == b':').any(|directory| match directory {
        b"" => is_executable(&[name]),
        directory => is_executable(&[directory, b"/", name]),
    })
}

fn is_executable(parts: &[&[u8]]) -> bool {
    let mut path = Text::new();
    parts.iter().for_each(|part| {
        path.push(part);
    });
    path.terminated().is_some_and(sys::is_executable)
}

/// The arguments of `execl` and the like up to the null, as a list, and the argument behind the null. `None` if there is no memory.
fn as_list(first: usize, others: *mut core::ffi::c_void) -> Option<(usize, usize)> {
    let mut arguments = Arguments::of(others);
    let mut count = 1;
    if first != 0 {
        count += 1;
        while arguments.next() != 0 {
            count += 1;
        }
    }
    let behind = arguments.next();
    let list: *mut usize = sys::map_private(count * size_of::<usize>()).ok()?.cast();
    let mut arguments = Arguments::of(others);
    for number in 0..count - 1 {
        let argument = if number == 0 { first } else { arguments.next() };
        // SAFETY: within the mapping, whose zeros end the list.
        unsafe { list.add(number).write(argument) };
    }
    Some((list as usize, behind))
}

/// There is no memory for the arguments.
fn fail() -> i32 {
    // SAFETY: `errno` is the thread's own.
    unsafe { *libc::__errno_location() = libc::ENOMEM };
    -1
}

hook! {
    fn execve(path: usize, arguments: usize, environment: usize; pc) -> i32 {
        become_another(Wanted::Path(path), environment, |environment| real(path, arguments, environment))
    }
    fn execv(path: usize, arguments: usize; pc) -> i32 {
        execve(path, arguments, environment::own(), pc)
    }
    fn execvp(file: usize, arguments: usize; pc) -> i32 {
        execvpe(file, arguments, environment::own(), pc)
    }
    fn execvpe(file: usize, arguments: usize, environment: usize; pc) -> i32 {
        become_another(Wanted::Name(file), environment, |environment| real(file, arguments, environment))
    }
    fn fexecve(file: i32, arguments: usize, environment: usize; pc) -> i32 {
        become_another(Wanted::Other, environment, |environment| real(file, arguments, environment))
    }
    fn execveat(directory: i32, path: usize, arguments: usize, environment: usize, flags: i32; pc) -> i32 {
        become_another(Wanted::Other, environment, |environment| real(directory, path, arguments, environment, flags))
    }
}

hook_any! {
    fn execl(path: usize, first: usize; list; pc) -> i32 = execv {
        as_list(first, list).map_or_else(fail, |(arguments, _)| execv(path, arguments, pc))
    }
    fn execlp(file: usize, first: usize; list; pc) -> i32 = execvp {
        as_list(first, list).map_or_else(fail, |(arguments, _)| execvp(file, arguments, pc))
    }
    fn execle(path: usize, first: usize; list; pc) -> i32 = execve {
        as_list(first, list).map_or_else(fail, |(arguments, environment)| execve(path, arguments, environment, pc))
    }
}

//! Signals that end `overtake` are for the program it runs.
//!
//! While a program runs, a signal is handed on to it; it ends, and the report follows. Afterwards a signal ends `overtake`, which
//! removes its temporary directories first. A signal that arrives within a second of the program's end was for the program: `timeout` sends
//! one to `overtake` and one to all its children, which may end first. Signals that were ignored at the start, as with `nohup`, stay ignored: the
//! program inherits that.

use std::path::PathBuf;
use std::process::Child;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use rustix::process::{Pid, Signal, kill_process};
use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::flag::register_conditional_shutdown;
use signal_hook::iterator::Signals;

/// What happens to a signal that arrives.
struct State {
    is_caught: bool,
    /// Processes that it is handed on to.
    targets: Vec<Pid>,
    /// The program has ended, but it is not known yet which other processes run: signals wait.
    is_held: bool,
    /// The signal that waits.
    pending: Option<i32>,
    /// When the program ended.
    over: Option<Instant>,
    /// Directories that are removed before a signal ends this process.
    temporary: Vec<PathBuf>,
}

static STATE: Mutex<State> = Mutex::new(State {
    is_caught: false,
    targets: Vec::new(),
    is_held: false,
    pending: None,
    over: None,
    temporary: Vec::new(),
});

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A directory that is removed when this is dropped, or when a signal ends this process.
#[derive(Debug)]
pub struct Scratch {
    directory: tempfile::TempDir,
}

impl Scratch {
    /// Makes a directory below `parent` that only this user can look into.
    pub fn new_in(prefix: &str, parent: &std::path::Path) -> std::io::Result<Scratch> {
        let mut state = state();
        let directory = tempfile::Builder::new().prefix(prefix).tempdir_in(parent)?;
        state.temporary.push(directory.path().to_owned());
        Ok(Scratch { directory })
    }

    /// Where it is.
    pub fn path(&self) -> &std::path::Path {
        self.directory.path()
    }

    /// Leaves the directory where it is.
    pub fn keep(&mut self) {
        self.directory.disable_cleanup(true);
        state().temporary.retain(|path| path != self.directory.path());
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        state().temporary.retain(|path| path != self.directory.path());
    }
}

/// From now on, signals that end processes do what this module says. If no thread can be started to wait for them, they do what they
/// always do.
pub fn catch_signals() {
    let mut state = state();
    if std::mem::replace(&mut state.is_caught, true) {
        return;
    }
    let ignored = ignored_signals();
    let wanted =
        [SIGINT, SIGQUIT, SIGTERM, SIGHUP].into_iter().filter(|signal| ignored & (1 << (signal - 1)) == 0);
    let Ok(mut signals) = Signals::new(wanted) else { return };
    let handle = signals.handle();
    let waiting = thread::Builder::new().spawn(move || {
        for signal in &mut signals {
            arrived(signal);
        }
    });
    if waiting.is_err() {
        handle.close();
    }
}

/// From now on this process ends with an exit code where it would abort. It aborts if memory runs out, after a message that says so; a
/// signal looks as if the checked program had died.
pub fn end_instead_of_aborting(code: u8) {
    // Where that is not possible, it aborts.
    let _ = register_conditional_shutdown(SIGABRT, i32::from(code), Arc::new(AtomicBool::new(true)));
}

/// Signals that this process ignores, a bit each, the lowest for signal 1.
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

fn arrived(signal: i32) {
    let mut state = state();
    if state.is_held {
        state.pending = Some(signal);
        return;
    }
    if !state.targets.is_empty() {
        return hand_on(signal, &state.targets);
    }
    if was_for_the_program(state.over, Instant::now()) {
        return;
    }
    for directory in &state.temporary {
        // What cannot be removed stays; there is nobody left to report it to.
        let _ = fs::remove_dir_all(directory);
    }
    process::exit(128 + signal);
}

/// Whether a signal that arrives now was sent to end the program, which has ended already.
fn was_for_the_program(over: Option<Instant>, now: Instant) -> bool {
    over.is_some_and(|over| now.saturating_duration_since(over) < Duration::from_secs(1))
}

fn hand_on(signal: i32, targets: &[Pid]) {
    // A terminal sends the signals of its keys to all processes in its foreground: the program has this one already.
    if matches!(signal, SIGINT | SIGQUIT) && is_in_front_of_terminal() {
        return;
    }
    let Some(signal) = Signal::from_named_raw(signal) else { return };
    for &target in targets {
        // It may have ended on its own.
        let _ = kill_process(target, signal);
    }
}

/// Whether this process is in the foreground of its terminal.
fn is_in_front_of_terminal() -> bool {
    let terminal = fs::File::open("/dev/tty");
    let front = terminal.ok().and_then(|terminal| rustix::termios::tcgetpgrp(terminal).ok());
    front.is_some_and(|front| front == rustix::process::getpgrp())
}

/// Hands signals on to the process that `start` starts. No signal arrives in between.
pub(super) fn started(start: impl FnOnce() -> std::io::Result<Child>) -> std::io::Result<Child> {
    let mut state = state();
    let started = start()?;
    state.targets = vec![Pid::from_child(&started)];
    Ok(started)
}

/// The program has ended. Its number may soon be that of another process.
pub(super) fn hold() {
    let mut state = state();
    state.is_held = true;
    state.over = Some(Instant::now());
    state.targets.clear();
}

/// Hands signals on to these processes from now on. If there are none, signals end this process.
pub(super) fn hand_on_to(processes: Vec<Pid>) {
    let mut state = state();
    state.is_held = false;
    state.targets = processes;
    if let Some(signal) = state.pending.take() {
        hand_on(signal, &state.targets);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_right_after_the_end_was_for_the_program() {
        let end = Instant::now();
        assert!(!was_for_the_program(None, end), "nothing ran yet");
        assert!(was_for_the_program(Some(end), end + Duration::from_millis(10)));
        assert!(
            !was_for_the_program(Some(end), end + Duration::from_secs(2)),
            "somebody does not want the report"
        );
    }
}

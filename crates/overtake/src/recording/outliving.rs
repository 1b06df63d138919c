//! Processes that outlive the first one: daemons and late children are waited for as long as they record.
//!
//! Orphans become children of this process (it is their *subreaper*), so that the kernel says whether any process is left. A process
//! records if it has mapped a file of our log directory: every recorder has, whatever else the process did.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitId, WaitIdOptions, getpid, set_child_subreaper, waitid};

use super::{process_of, signals};
use crate::Listener;

/// The pause between two looks at the processes.
const PAUSE: Duration = Duration::from_millis(20);

/// Makes orphans of our children our own children.
pub(super) fn adopt_orphans() {
    // Where that is not possible, only the first process is waited for.
    let _ = set_child_subreaper(Some(getpid()));
}

/// Waits until no process records below `root` any more, but not longer than `limit`. Returns those that still do.
pub(super) fn wait_for_recorders(root: &Path, limit: Duration, listener: &dyn Listener) -> BTreeSet<u32> {
    let start = Instant::now();
    let mut is_said = false;
    loop {
        if !has_children() {
            return BTreeSet::new();
        }
        let recorders = recorders(root);
        if recorders.is_empty() || start.elapsed() >= limit {
            return recorders;
        }
        if !std::mem::replace(&mut is_said, true) {
            listener.say(&format!(
                "waiting for what the program left running: {}; --wait limits that to {} s",
                named(&recorders),
                limit.as_secs()
            ));
        }
        let targets = recorders.iter().filter_map(|&process| Pid::from_raw(process as i32));
        signals::hand_on_to(targets.collect());
        thread::sleep(PAUSE);
    }
}

/// Processes with their names: `4711 (server)`.
pub(super) fn named(processes: &BTreeSet<u32>) -> String {
    let named = processes.iter().map(|process| {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        format!("{process} ({})", name.trim_end())
    });
    named.collect::<Vec<_>>().join(", ")
}

/// Reaps the children that have ended. Returns whether a child is left.
fn has_children() -> bool {
    loop {
        match waitid(WaitId::All, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The processes that record below `root`.
fn recorders(root: &Path) -> BTreeSet<u32> {
    let mut found: BTreeSet<u32> =
        all_processes().filter(|&process| has_mapped(process, root) == Some(true)).collect();
    // Only root sees the memory map of a process that changed its user. Such a process records if its log has no end.
    let logs = super::logs_in(root).unwrap_or_default();
    let unfinished =
        logs.iter().filter(|log| !has_ended(log)).filter_map(|log| process_of(log)?.parse().ok());
    found.extend(unfinished.filter(|&process| is_running(process) && has_mapped(process, root).is_none()));
    found
}

fn all_processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let myself = std::process::id();
    numbers.filter(move |&process| process != myself)
}

/// Whether a process has mapped a file below `root`. `None` if its memory map cannot be read.
fn has_mapped(process: u32, root: &Path) -> Option<bool> {
    let mut wanted = root.as_os_str().as_bytes().to_vec();
    wanted.push(b'/');
    let maps = fs::read(format!("/proc/{process}/maps")).ok()?;
    Some(maps.windows(wanted.len()).any(|found| found == wanted))
}

/// Whether a process is there and no zombie.
pub(super) fn is_running(process: u32) -> bool {
    let statistics = fs::read(format!("/proc/{process}/stat")).unwrap_or_default();
    // The name in brackets may be anything; the state follows.
    let state = statistics.rsplit(|&byte| byte == b')').next().and_then(|rest| rest.get(1));
    !matches!(state, None | Some(b'Z' | b'X'))
}

/// Whether the process of a log came to an orderly end.
pub(super) fn has_ended(log: &Path) -> bool {
    let text = fs::read_to_string(log.join("process")).unwrap_or_default();
    text.lines().any(|line| line.split(' ').next() == Some("ended"))
}

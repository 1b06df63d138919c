//! Logs of programs that were started directly and ended before they could report: they crashed, or were killed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use overtake_seal::Log;

use super::{ROOT_PREFIX, logs_in, outliving, process_of};
use crate::Error;

/// Logs older than this are removed.
const OLD: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A log that was not reported.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Leftover {
    /// The log.
    pub log: PathBuf,
    /// The command line of the process.
    pub command: Vec<String>,
}

/// The logs of this user's dead processes in a directory, also those of an `overtake run` that was killed. Old ones are removed on
/// the way.
pub fn leftovers(directory: &Path) -> Vec<Leftover> {
    let mut logs = logs_in(directory).unwrap_or_default();
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path());
    for root in entries.filter(|path| is_abandoned(path)) {
        logs.extend(logs_in(&root).unwrap_or_default());
        remove_if_empty(&root);
    }
    logs.retain(|log| trusted(log).is_ok() && !is_in_use(log));
    logs.sort();
    let is_old = |log: &PathBuf| {
        let changed = fs::metadata(log).and_then(|found| found.modified());
        changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > OLD))
    };
    let (old, young): (Vec<_>, Vec<_>) = logs.into_iter().partition(is_old);
    for log in old {
        remove(&log);
    }
    let read = young.into_iter().filter_map(|log| {
        let command = Log::open(&log).ok()?.command;
        Some(Leftover { log, command })
    });
    read.collect()
}

/// Removes a log, and the directory of its run if that was abandoned and has no other one.
pub fn remove(log: &Path) {
    // Another process may remove it at the same time.
    let _ = fs::remove_dir_all(log);
    if let Some(root) = log.parent().filter(|root| is_abandoned(root)) {
        remove_if_empty(root);
    }
}

/// Removes the directory of a run if no log is in it. All other files there are temporary.
fn remove_if_empty(root: &Path) {
    if logs_in(root).is_ok_and(|logs| logs.is_empty()) {
        let _ = fs::remove_dir_all(root);
    }
}

/// Whether a directory belongs to a run whose `overtake` was killed.
fn is_abandoned(root: &Path) -> bool {
    let name = root.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let process = name.strip_prefix(ROOT_PREFIX).and_then(|rest| rest.split('-').next()?.parse().ok());
    process.is_some_and(|process| !outliving::is_running(process)) && trusted(root).is_ok()
}

fn is_in_use(log: &Path) -> bool {
    process_of(log).and_then(|process| process.parse().ok()).is_some_and(outliving::is_running)
}

/// Refuses a log that is not a directory of this user: another user's log would choose which files are read with this user's rights.
pub fn trusted(log: &Path) -> Result<(), Error> {
    let found = fs::symlink_metadata(log).map_err(|error| Error::in_file(log, error))?;
    let user = rustix::process::geteuid().as_raw();
    match (found.is_dir(), found.uid()) {
        (false, _) => Err(Error::in_file(log, "expected a log, which is a directory, found something else")),
        (true, owner) if owner != user => {
            let message = format!("expected a log of user {user}, found one of user {owner}");
            Err(Error::in_file(log, message))
        }
        _ => Ok(()),
    }
}

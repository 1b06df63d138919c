//! Programs that a recorded program starts, by `posix_spawn` or by `fork` and `exec`, and that report for themselves: their ancestor is told what
//! they came to, so that it does not end with 0 either.
//!
//! The nearest ancestor that records is found by the kernel's list of processes, and its log by its memory map. The file `descendants` in that log has
//! a line for each descendant with races, and for each that was not checked.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::process_of;

const FILE: &str = "descendants";

/// What descendants of a process came to, apart from those without races.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Descendants {
    /// Whether any had races.
    pub races: bool,
    /// Whether any was not checked, or only in part.
    pub unchecked: bool,
}

impl Descendants {
    /// What descendants told the process of this log.
    pub fn of(log: &Path) -> Descendants {
        let lines = fs::read_to_string(log.join(FILE)).unwrap_or_default(); // most have none
        let has = |word: &str| lines.lines().any(|line| line == word);
        Descendants { races: has("races"), unchecked: has("unchecked") }
    }

    /// Tells the nearest ancestor of a process that records. If there is none, nobody is told.
    pub fn tell_ancestor_of(self, process: u32) {
        let words = [(self.races, "races\n"), (self.unchecked, "unchecked\n")];
        let text: String = words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect();
        if text.is_empty() {
            return;
        }
        if let Some(log) = ancestors(process).find_map(log_of) {
            // If the ancestor has just ended, its exit code cannot change any more.
            let opened = File::options().append(true).create(true).open(log.join(FILE));
            let _ = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        }
    }
}

/// The parent of a process, its parent, and so on.
fn ancestors(process: u32) -> impl Iterator<Item = u32> {
    /// More than any program has; numbers of processes may be used again while we look.
    const MOST: usize = 64;
    std::iter::successors(parent(process), |&ancestor| parent(ancestor)).take(MOST)
}

fn parent(process: u32) -> Option<u32> {
    let statistics = fs::read(format!("/proc/{process}/stat")).ok()?;
    // The name in brackets may be anything; the state and the parent follow.
    let rest = statistics.rsplit(|&byte| byte == b')').next()?;
    let parent = String::from_utf8_lossy(rest).split_whitespace().nth(1)?.parse().ok()?;
    (parent != 0).then_some(parent)
}

/// The log of a process that records.
fn log_of(process: u32) -> Option<PathBuf> {
    let maps = fs::read(format!("/proc/{process}/maps")).ok()?;
    let files = maps.split(|&byte| byte == b'\n').filter_map(|line| {
        let path = line.iter().position(|&byte| byte == b'/')?;
        Some(Path::new(std::ffi::OsStr::from_bytes(line.get(path..)?)))
    });
    let mut logs =
        files.filter(|file| file.file_name().is_some_and(|name| name == "threads")).filter_map(Path::parent);
    // A child has the log of its parent mapped as well.
    let is_own = |log: &&Path| {
        let is_log = log.file_name().is_some_and(|name| name.as_bytes().starts_with(b"overtake."));
        is_log && process_of(log).and_then(|number| number.parse().ok()) == Some(process)
    };
    logs.find(is_own).map(Path::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_end_with_the_first_process() {
        let mine: Vec<u32> = ancestors(std::process::id()).collect();
        assert_eq!(mine.first(), Some(&std::os::unix::process::parent_id()));
        assert!(mine.iter().all(|&process| process != 0));
    }

    #[test]
    fn what_descendants_told_is_read() {
        let log = tempfile::tempdir().expect("writable");
        assert_eq!(Descendants::of(log.path()), Descendants::default());
        fs::write(log.path().join(FILE), "races\nraces\n").expect("writable");
        assert_eq!(Descendants::of(log.path()), Descendants { races: true, unchecked: false });
    }
}

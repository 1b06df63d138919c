//! In which directory and with which environment recorded programs ran, so that `overtake confirm` runs them in the same way.
//!
//! People publish results, and variables can be secrets. So a result does not have them. They are in a file of the user's cache that nobody
//! else can read; what the result says of the run leads to it. A result on another machine leads nowhere. Files older than a month are removed.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use overtake_report::result::Run;

use crate::compile::{cache_directory, hash_of};

const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Shells set these by themselves.
const OF_SHELLS: [&str; 6] = ["_", "SHLVL", "PWD", "OLDPWD", "COLUMNS", "LINES"];

/// The directory and the environment of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Circumstances {
    /// The working directory.
    pub directory: PathBuf,
    /// All variables.
    pub environment: BTreeMap<OsString, OsString>,
}

impl Circumstances {
    /// Those of this process, which the programs that it starts have as well.
    pub fn current() -> io::Result<Circumstances> {
        Ok(Circumstances { directory: std::env::current_dir()?, environment: std::env::vars_os().collect() })
    }

    /// Remembers that the run of a command as a process, with so many events, had these.
    pub fn remember(&self, command: &[String], process: u64, events: u64) -> io::Result<()> {
        let file = file_of(command, process, events)?;
        let directory = file.parent().expect("a file in the cache");
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        remove_old(directory);
        let _ = fs::remove_file(&file);
        let mut created = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&file)?;
        created.write_all(&self.to_bytes())
    }

    /// Those of a run: as the result has them, else as they were remembered.
    pub fn of(run: &Run) -> Option<Circumstances> {
        if !run.environment.is_empty() && Path::new(&run.directory).is_absolute() {
            let environment =
                run.environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
            return Some(Circumstances { directory: PathBuf::from(&run.directory), environment });
        }
        Circumstances::from_bytes(&fs::read(file_of(&run.command, run.process, run.events).ok()?).ok()?)
    }

    /// The names of variables that differ, except those that shells set.
    pub fn differences<'a>(&'a self, other: &'a Circumstances) -> Vec<&'a OsStr> {
        let names = self.environment.keys().chain(other.environment.keys());
        let mut names: Vec<&OsStr> = names
            .filter(|name| self.environment.get(*name) != other.environment.get(*name))
            .map(OsString::as_os_str)
            .filter(|name| !OF_SHELLS.iter().any(|known| name == known))
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The directory, then the variables. Each ends with a zero, which none can contain.
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = [self.directory.as_os_str().as_bytes(), &[0]].concat();
        for (name, value) in &self.environment {
            bytes.extend([name.as_bytes(), b"=", value.as_bytes(), &[0]].concat());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Circumstances> {
        let mut parts = bytes.strip_suffix(&[0])?.split(|&byte| byte == 0);
        let directory = PathBuf::from(OsString::from_vec(parts.next()?.to_vec()));
        let variable = |part: &[u8]| {
            let equals = part.iter().skip(1).position(|&byte| byte == b'=')? + 1;
            let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
            Some((text(&part[..equals]), text(&part[equals + 1..])))
        };
        Some(Circumstances { directory, environment: parts.filter_map(variable).collect() })
    }
}

/// The file for a run. Two runs of one command with one process id and equally many events share it.
fn file_of(command: &[String], process: u64, events: u64) -> io::Result<PathBuf> {
    if process == 0 {
        return Err(io::Error::other("not a recorded program"));
    }
    let key = hash_of((command, process, events));
    Ok(cache_directory()?.join("circumstances").join(format!("{key:016x}")))
}

fn remove_old(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let age =
            entry.metadata().and_then(|found| found.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > MONTH) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circumstances(variables: &[(&[u8], &[u8])]) -> Circumstances {
        let text = |bytes: &[u8]| OsString::from_vec(bytes.to_vec());
        let environment = variables.iter().map(|(name, value)| (text(name), text(value))).collect();
        Circumstances { directory: PathBuf::from("/some/where"), environment }
    }

    #[test]
    fn any_bytes_are_read_as_they_were_written() {
        let all = circumstances(&[(b"A", b""), (b"B", b"x=y\nz"), (b"=odd", b"1"), (b"C", &[0xff, 0xfe])]);
        assert_eq!(Circumstances::from_bytes(&all.to_bytes()), Some(all));
        assert_eq!(Circumstances::from_bytes(b""), None);
        assert_eq!(Circumstances::from_bytes(b"cut off"), None);
    }

    #[test]
    fn variables_of_shells_are_no_difference() {
        let one = circumstances(&[(b"SAME", b"1"), (b"SHLVL", b"1"), (b"OTHER", b"1"), (b"GONE", b"")]);
        let other = circumstances(&[(b"SAME", b"1"), (b"SHLVL", b"2"), (b"OTHER", b"2")]);
        assert_eq!(one.differences(&other), ["GONE", "OTHER"]);
    }
}

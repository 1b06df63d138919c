//! Programs at work with the recorder in them, and what they leave.

use std::ffi::OsString;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use overtake_seal::{Sealed, seal};
use overtake_trace::OtrWriter;
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::Error;
use crate::files::OutputFile;

/// What is recorded.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct RecordingOptions {
    /// Every access, also those that repeat one of the same thread since it last synchronised.
    pub exact: bool,
    /// Only the newest part of each process, about this many bytes.
    pub max_size: Option<u64>,
}

/// A program that ran, and the logs of its processes.
pub struct Recording {
    root: tempfile::TempDir,
    /// How the first process ended.
    pub status: ExitStatus,
}

impl Recording {
    /// Runs a program, given with its arguments, to its end, with its logs below `parent`.
    pub fn run(program: &[OsString], options: &RecordingOptions, parent: &Path) -> Result<Recording, Error> {
        let root = tempfile::Builder::new().prefix("overtake-log-").tempdir_in(parent);
        let root = root.map_err(|error| Error::in_file(parent, error))?;
        let (program, rest) =
            program.split_first().ok_or_else(|| Error::usage("expected a program, found none"))?;
        let mut command = Command::new(runnable(program));
        command.args(rest).env("OVERTAKE_LOG", root.path());
        if options.exact {
            command.env("OVERTAKE_EXACT", "1");
        }
        if let Some(bytes) = options.max_size {
            command.env("OVERTAKE_MAX_BYTES", bytes.to_string());
        }
        ignore_interrupts();
        let status = command.status().map_err(|error| Error::in_file(Path::new(program), error))?;
        Ok(Recording { root, status })
    }

    /// The logs, in the order in which their processes started.
    pub fn logs(&self) -> Result<Vec<PathBuf>, Error> {
        let failed = |error| Error::in_file(self.root.path(), error);
        let mut logs = Vec::new();
        for entry in fs::read_dir(self.root.path()).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("overtake.")) {
                logs.push(path);
            }
        }
        logs.sort_by_key(|path| (start_of(path), path.clone()));
        Ok(logs)
    }

    /// A log that was not sealed stays: it moves out of what is removed with this, to where it needs no room. Says so.
    pub fn keep(&self, log: &Path, failure: &Error) -> String {
        let name = log.file_name().unwrap_or_default();
        let kept = self.root.path().with_file_name(name);
        match fs::rename(log, &kept) {
            Ok(()) => {
                let log = kept.display();
                format!("{failure}; the log is kept, `overtake seal {log} -o TRACE` makes a trace of it")
            }
            Err(error) => format!("{failure}; the log is lost: {}: {error}", kept.display()),
        }
    }

    /// Where files may go that live as long as the logs.
    pub fn directory(&self) -> &Path {
        self.root.path()
    }

    /// What to do if no process left a log.
    pub fn hint(program: &Path) -> String {
        format!("{}: nothing was recorded; is it built with overtake cc or overtake c++?", program.display())
    }
}

/// The stamp in `overtake.<process>.<stamp>`.
fn start_of(log: &Path) -> u64 {
    let stamp = log.extension().and_then(|stamp| stamp.to_str());
    stamp.and_then(|stamp| stamp.parse().ok()).unwrap_or(u64::MAX)
}

/// A program named without a path is looked for here first, as `overtake run bank` means the file.
fn runnable(program: &OsString) -> OsString {
    let path = Path::new(program);
    if path.components().count() == 1 && path.is_file() {
        return Path::new(".").join(path).into_os_string();
    }
    program.clone()
}

/// Keys that end the program go to it, too; this process lives on to report.
fn ignore_interrupts() {
    for signal in [SIGINT, SIGQUIT] {
        // Without a handler the worst is a missing report.
        let _ = signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)));
    }
}

/// The exit code of a program as shells have it: 128 + n after signal n.
pub fn exit_code(status: ExitStatus) -> u8 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8
}

/// Seals a log into the file `out`. Returns what it holds, and the file's size.
pub fn seal_log(log: &Path, out: &Path) -> Result<(Sealed, u64), Error> {
    let (file, output) = OutputFile::create(out)?;
    let mut writer = OtrWriter::new(output).map_err(|error| Error::in_file(out, error))?;
    let sealed = seal(log, &mut writer).map_err(|error| Error::failed(error.to_string()))?;
    drop(writer);
    Ok((sealed, file.complete()?))
}

/// The name of the trace of a process: its program and its number.
pub fn trace_name(sealed_command: &[String], log: &Path) -> String {
    let program = sealed_command.first().map(|program| Path::new(program).file_name().unwrap_or_default());
    let program = program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{program}.{}", process_of(log).unwrap_or("0"))
}

/// The number of the process in `overtake.<process>.<stamp>`.
pub fn process_of(log: &Path) -> Option<&str> {
    Path::new(log.file_stem()?).extension()?.to_str()
}

/// What was not recorded, or could not be read, one line each.
pub fn losses(sealed: &Sealed) -> String {
    let log = &sealed.log;
    let mut text = String::new();
    let mut say = |line: String| text.push_str(&(line + "\n"));
    let sum = |of: fn(&overtake_seal::ThreadLog) -> u64| log.threads.iter().map(of).sum::<u64>();
    for damage in &log.damage {
        say(format!("damaged: {damage}"));
    }
    let (lost, dropped) = (sum(|thread| thread.lost_bytes), sum(|thread| thread.dropped_bytes));
    if lost > 0 {
        say(format!("missing: {lost} bytes of the log found no room on the disk"));
    }
    if dropped > 0 {
        say(format!("missing: {dropped} bytes of the log, the oldest, gave way to the size limit"));
    }
    if log.lost_events > 0 {
        say(format!("missing: {} events of threads that were ending", log.lost_events));
    }
    text
}

/// What was left out because it repeats what was recorded, in one line; empty if nothing was.
pub fn coalesced(sealed: &Sealed) -> String {
    let sum = |of: fn(&overtake_seal::ThreadLog) -> u64| sealed.log.threads.iter().map(of).sum::<u64>();
    match (sum(|thread| thread.coalesced), sum(|thread| thread.closing_writes)) {
        (0, 0) => String::new(),
        (accesses, writes) => format!(
            "coalesced: at least {accesses} accesses repeat recorded ones, {writes} closing writes stand for the last of them\n"
        ),
    }
}

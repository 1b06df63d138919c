//! Runs programs that record themselves, and handles the logs that they leave.

mod descendants;
mod leftover;
mod live;
mod loss;
mod outliving;
mod scratch;
mod signals;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use overtake_report::triage::sanitizer_options;
use overtake_seal::{Modules, seal_with};
use overtake_trace::OtrWriter;
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::files::OutputFile;
use crate::surroundings::Surroundings;
use crate::{Error, Listener};

pub use overtake_seal::Sealed;

pub use descendants::Descendants;
pub use leftover::{Leftover, leftovers, remove, trusted};
pub(crate) use live::{Live, Writing};
pub use loss::{Losses, coalesced, is_incomplete, is_uninstrumented, losses, missing};
pub use scratch::scratch_directory;
pub use signals::{Scratch, catch_signals, end_instead_of_aborting};

/// How the names of the directories for logs begin; the number of the `overtake` process follows.
const ROOT_PREFIX: &str = "overtake-log-";

/// What is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordingOptions {
    /// Record every access, also those that repeat one of the same thread since it last synchronised.
    pub exact: bool,
    /// Keep about this many of the newest bytes of each process's log.
    pub max_size: Option<u64>,
    /// The longest time to wait for processes that outlive the first one.
    pub wait: Duration,
}

impl Default for RecordingOptions {
    fn default() -> Self {
        RecordingOptions { exact: false, max_size: None, wait: Duration::from_secs(60) }
    }
}

/// A program that ran, and the logs of its processes.
pub struct Recording {
    root: Scratch,
    /// How the first process ended.
    pub status: ExitStatus,
    /// Why the command that comes after the program failed, if it did.
    pub teardown: Result<(), Error>,
    /// Processes that still record.
    running: BTreeSet<u32>,
}

impl Recording {
    /// Runs a program with its arguments and waits for all its processes that record, though not longer than `options.wait` after the first
    /// has ended. Their logs go below `parent`. `surroundings` are what is done around the first process.
    pub fn run(
        program: &[OsString],
        options: &RecordingOptions,
        surroundings: &Surroundings,
        parent: &Path,
        listener: &dyn Listener,
    ) -> Result<Recording, Error> {
        let root = Scratch::new_in(&format!("{ROOT_PREFIX}{}-", std::process::id()), parent);
        let root = root.map_err(|error| Error::in_file(parent, error))?;
        let (program, rest) =
            program.split_first().ok_or_else(|| Error::usage("expected a program, found none"))?;
        let mut command = Command::new(runnable(program));
        surroundings.surround(&mut command)?;
        command.args(rest).env("OVERTAKE_LOG", root.path());
        if options.exact {
            command.env("OVERTAKE_EXACT", "1");
        }
        if let Some(bytes) = options.max_size {
            command.env("OVERTAKE_MAX_BYTES", bytes.to_string());
        }
        let failed = |error| Error::in_file(Path::new(program), error);
        catch_signals();
        outliving::adopt_orphans();
        surroundings.prepare()?;
        let mut started = signals::started(|| command.spawn()).map_err(failed)?;
        let client = surroundings.start_client(&mut started)?;
        let status = waited_for(started).map_err(failed)?;
        if let Some(client) = client {
            client.end();
        }
        let teardown = surroundings.clean_up();
        let running = outliving::wait_for_recorders(root.path(), options.wait, listener);
        signals::hand_on_to(Vec::new());
        Ok(Recording { root, status, teardown, running })
    }

    /// The logs of processes that have ended, in the order in which they started.
    pub fn logs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut logs = self.all_logs()?;
        logs.retain(|log| !self.is_in_use(log));
        Ok(logs)
    }

    fn all_logs(&self) -> Result<Vec<PathBuf>, Error> {
        let mut logs = logs_in(self.root.path()).map_err(|error| Error::in_file(self.root.path(), error))?;
        logs.sort_by_key(|path| (start_of(path), path.clone()));
        Ok(logs)
    }

    fn is_in_use(&self, log: &Path) -> bool {
        let process = process_of(log).and_then(|process| process.parse().ok());
        process.is_some_and(|process| self.running.contains(&process))
    }

    /// Leaves the logs of processes that still run where they are. Returns which they are; `None` if there are none.
    pub fn keep_running(&mut self) -> Option<Error> {
        if self.running.is_empty() {
            return None;
        }
        self.root.keep();
        let logs = self.all_logs().unwrap_or_default();
        for log in logs.iter().filter(|log| !self.is_in_use(log)) {
            // The logs of other processes are not needed. If one cannot be removed, that is not worth an error.
            let _ = fs::remove_dir_all(log);
        }
        let processes = outliving::named(&self.running);
        let kept: String = logs
            .iter()
            .filter(|log| self.is_in_use(log))
            .map(|log| format!("\n  overtake finish {}", log.display()))
            .collect();
        Some(Error::failed(format!(
            "still running, so not checked: {processes}; wait longer with --wait, or see the races after the end:{kept}"
        )))
    }

    /// Keeps a log that was not sealed. Returns the message about it.
    pub fn keep(&self, log: &Path, failure: &Error) -> String {
        match self.moved_out(log) {
            Ok(kept) => {
                let log = kept.display();
                format!("{failure}; the log is kept, `overtake seal {log} -o TRACE` makes a trace of it")
            }
            Err(error) => format!("{failure}; the log is lost: {error}"),
        }
    }

    /// Keeps logs whose report could not be written. Returns the message about them.
    pub fn keep_for_report(&self, logs: &[PathBuf], failure: &Error) -> String {
        let kept = logs.iter().filter(|log| log.exists()).map(|log| match self.moved_out(log) {
            Ok(kept) => format!("; the log is kept, `overtake finish {}` reports again", kept.display()),
            Err(error) => format!("; the log is lost: {error}"),
        });
        kept.fold(failure.to_string(), |text, line| text + &line)
    }

    /// Moves a log out of the directory that is removed with this value. The new place is beside that directory, so that nothing is copied.
    fn moved_out(&self, log: &Path) -> Result<PathBuf, Error> {
        let kept = self.root.path().with_file_name(log.file_name().unwrap_or_default());
        fs::rename(log, &kept).map_err(|error| Error::in_file(&kept, error))?;
        Ok(kept)
    }

    /// A directory for files that live as long as the logs.
    pub fn directory(&self) -> &Path {
        self.root.path()
    }

    /// What to do if no process left a log.
    pub fn hint(program: &Path) -> String {
        format!(
            "{}: nothing was recorded, so nothing was checked; build it with overtake cc, overtake c++ or overtake build \
             (--allow-empty accepts this)",
            program.display()
        )
    }
}

/// The directories below `root` that are logs.
fn logs_in(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut logs = Vec::new();
    for entry in fs::read_dir(root)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("overtake.")) {
            logs.push(path);
        }
    }
    Ok(logs)
}

/// Waits for the end of a process. Signals are handed on to it until it ends, but not to the next process with its number.
fn waited_for(mut child: Child) -> io::Result<ExitStatus> {
    let process = WaitId::Pid(Pid::from_child(&child));
    while let Err(rustix::io::Errno::INTR) =
        waitid(process.clone(), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
    {}
    signals::hold();
    child.wait()
}

/// The stamp in `overtake.<random>.<process>.<stamp>`.
fn start_of(log: &Path) -> u64 {
    let stamp = log.extension().and_then(|stamp| stamp.to_str());
    stamp.and_then(|stamp| stamp.parse().ok()).unwrap_or(u64::MAX)
}

/// A program named without a path is looked for in the current directory first: `overtake run bank` means the file.
pub(crate) fn runnable(program: &OsString) -> OsString {
    let path = Path::new(program);
    if path.components().count() == 1 && path.is_file() {
        return Path::new(".").join(path).into_os_string();
    }
    program.clone()
}

/// The exit code of a program as shells count it: 128 + n after signal n.
pub fn exit_code(status: ExitStatus) -> u8 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)) as u8
}

/// How a program ended, for people; empty if it ended well.
pub fn ending(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => {
            let name = signal_hook::low_level::signal_name(signal).unwrap_or("unknown");
            format!("the program died of signal {signal} ({name}), exit code {}", exit_code(status))
        }
        (None, Some(0) | None) => String::new(),
        (None, Some(code)) => format!("the program ended with exit code {code}"),
    }
}

/// What counts of the records of modules: by `OVERTAKE_MODULES`, and by options in ThreadSanitizer's way, of the environment or
/// the program's own.
fn modules(log: &Path) -> Result<Modules, Error> {
    let named = std::env::var("OVERTAKE_MODULES").unwrap_or_default();
    let modules = Modules::parse(&named);
    let mut modules = modules.map_err(|error| Error::usage(format!("OVERTAKE_MODULES: {error}")))?;
    let own = fs::read(log.join("options")).unwrap_or_default(); // most programs say nothing
    let given = std::env::var("TSAN_OPTIONS").unwrap_or_default();
    if sanitizer_options(&format!("{} {given}", String::from_utf8_lossy(&own))).ignores_not_instrumented {
        modules.ignore_not_instrumented();
    }
    Ok(modules)
}

/// Seals a log into the file `out`. Returns what it holds, and the file's size.
pub fn seal_log(log: &Path, out: &Path) -> Result<(Sealed, u64), Error> {
    write_sealed(out, |output| {
        let mut writer = OtrWriter::new(output).map_err(|error| Error::in_file(out, error))?;
        seal_with(log, modules(log)?, &mut writer).map_err(|error| Error::failed(error.to_string()))
    })
}

/// Has a file written, which gets its name when it is complete. Returns its size as well.
fn write_sealed<T>(
    out: &Path,
    write: impl FnOnce(Box<dyn io::Write>) -> Result<T, Error>,
) -> Result<(T, u64), Error> {
    let (file, output) = OutputFile::create(out)?;
    let written = write(output)?;
    Ok((written, file.complete()?))
}

/// The name of the trace of a process: its program and its number.
pub fn trace_name(sealed_command: &[String], log: &Path) -> String {
    let program = sealed_command.first().map(|program| Path::new(program).file_name().unwrap_or_default());
    let program = program.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    format!("{program}.{}", process_of(log).unwrap_or("0"))
}

/// The number of the process in `overtake.<random>.<process>.<stamp>`.
pub fn process_of(log: &Path) -> Option<&str> {
    Path::new(log.file_stem()?).extension()?.to_str()
}

//! One run of the program, and how it ended.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::surroundings::Surroundings;
use crate::{Error, recording};

/// What runs, and what is done around it.
#[derive(Clone, Default, Debug)]
pub struct Trial {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// Commands before, after and beside it. Without a file as standard input, the program reads nothing.
    pub surroundings: Surroundings,
}

/// The streams whose contents are compared, as people call them.
pub(super) const STREAMS: [&str; 2] = ["standard output", "standard error"];

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ending {
    /// None if it took too long and was killed.
    pub(super) status: Option<ExitStatus>,
    /// What it wrote, by stream.
    pub(super) written: [Vec<u8>; 2],
    pub(super) time: Duration,
}

impl Ending {
    /// In words: `exit code 0`, `SIGSEGV`, `no end`.
    pub(super) fn in_words(&self) -> String {
        let Some(status) = self.status else { return "no end".into() };
        match (status.code(), status.signal()) {
            (Some(code), _) => format!("exit code {code}"),
            (None, Some(signal)) => signal_hook::low_level::signal_name(signal)
                .map_or_else(|| format!("signal {signal}"), str::to_owned),
            (None, None) => status.to_string(),
        }
    }
}

impl Trial {
    /// Runs the program with a back end of the runtime, for at most the time `most`. What it writes goes to files in `directory`.
    pub(super) fn run(
        &self,
        back_end: &str,
        plan: Option<&Path>,
        directory: &Path,
        most: Duration,
    ) -> Result<Ending, Error> {
        self.surroundings.prepare()?;
        let mut child = self.start(back_end, plan, directory)?;
        let start = Instant::now();
        let client = self.surroundings.start_client(&mut child)?;
        let failed = |error| Error::in_file(Path::new(&self.command[0]), error);
        let status = watch(&mut child, most).map_err(failed)?;
        let time = start.elapsed();
        if let Some(client) = client {
            client.end();
        }
        self.surroundings.clean_up()?;
        let mut written = [Vec::new(), Vec::new()];
        for (text, path) in written.iter_mut().zip(stream_files(directory)) {
            *text = fs::read(&path).map_err(|error| Error::in_file(&path, error))?;
        }
        Ok(Ending { status, written, time })
    }

    /// Starts the program. Its standard output and its standard error go to files in `directory`.
    pub(super) fn start(
        &self,
        back_end: &str,
        plan: Option<&Path>,
        directory: &Path,
    ) -> Result<Child, Error> {
        let (program, arguments) =
            self.command.split_first().ok_or_else(|| Error::usage("expected a program, found none"))?;
        let failed = |error: io::Error| Error::in_file(Path::new(program), error);
        let mut command = Command::new(recording::runnable(program));
        command.args(arguments).stdin(Stdio::null());
        self.surroundings.surround(&mut command)?;
        let created = |path: &PathBuf| File::create(path).map_err(|error| Error::in_file(path, error));
        let [output, errors] = stream_files(directory);
        command.stdout(created(&output)?).stderr(created(&errors)?);
        command.env("OVERTAKE_BACK_END", back_end);
        if let Some(plan) = plan {
            command.env("OVERTAKE_GATES", plan);
        }
        command.spawn().map_err(failed)
    }
}

/// The files for what a program writes, by stream.
fn stream_files(directory: &Path) -> [PathBuf; 2] {
    ["output", "errors"].map(|name| directory.join(name))
}

/// Waits for a program. After the time `most` it is killed, and there is no status.
fn watch(child: &mut Child, most: Duration) -> io::Result<Option<ExitStatus>> {
    let end_of_patience = Instant::now() + most;
    let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let mut status = child.try_wait()?;
    while status.is_none() && Instant::now() < end_of_patience {
        let left = end_of_patience.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).unwrap_or_default();
        match poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) | Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        status = child.try_wait()?;
    }
    if status.is_none() {
        child.kill().and_then(|()| child.wait())?;
    }
    Ok(status)
}

/// Waits until a program stops itself or ends, and returns whether it stopped.
pub(super) fn stops(child: &mut Child) -> Result<bool, Error> {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let Some(process) = Pid::from_raw(child.id() as i32) else { return Ok(false) };
    let failed = |error: io::Error| Error::failed(format!("waiting for the program: {error}"));
    loop {
        let wanted = WaitIdOptions::EXITED | WaitIdOptions::STOPPED | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(process), wanted) {
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
            Ok(status) if status.is_some_and(|status| status.stopped()) => return Ok(true),
            Ok(_) => return child.wait().map(|_| false).map_err(failed),
        }
    }
}

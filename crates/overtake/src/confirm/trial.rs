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

use crate::{Error, recording};

/// What runs, and what is done around it.
#[derive(Clone, Default, Debug)]
pub struct Trial {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// A shell command that runs before each run.
    pub setup: Option<String>,
    /// A shell command that runs after each run.
    pub teardown: Option<String>,
    /// A shell command that runs beside the program; when it ends, the program gets `SIGTERM`.
    pub client: Option<String>,
    /// The file that the program reads as standard input; without one it reads nothing.
    pub stdin: Option<PathBuf>,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ending {
    /// None if it took too long and was killed.
    pub(super) status: Option<ExitStatus>,
    /// What it wrote to standard output.
    pub(super) output: Vec<u8>,
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
    /// Runs the program with a back end of the runtime, for at most the time `most`. Its output goes to a file in `directory`.
    pub(super) fn run(
        &self,
        back_end: &str,
        plan: Option<&Path>,
        directory: &Path,
        most: Duration,
    ) -> Result<Ending, Error> {
        shell(self.setup.as_deref())?;
        let output = directory.join("output");
        let mut child = self.start(back_end, plan, &output)?;
        let start = Instant::now();
        let client = self.client.as_deref().map(spawned).transpose()?;
        let failed = |error| Error::in_file(Path::new(&self.command[0]), error);
        let status = watch(&mut child, client, most).map_err(failed)?;
        let time = start.elapsed();
        shell(self.teardown.as_deref())?;
        let output = fs::read(&output).map_err(|error| Error::in_file(&output, error))?;
        Ok(Ending { status, output, time })
    }

    /// Starts the program. Its standard output goes to a file; its standard error is dropped.
    pub(super) fn start(&self, back_end: &str, plan: Option<&Path>, output: &Path) -> Result<Child, Error> {
        let (program, arguments) =
            self.command.split_first().ok_or_else(|| Error::usage("expected a program, found none"))?;
        let failed = |error: io::Error| Error::in_file(Path::new(program), error);
        let stdin = match &self.stdin {
            Some(file) => File::open(file).map_err(|error| Error::in_file(file, error))?.into(),
            None => Stdio::null(),
        };
        let mut command = Command::new(recording::runnable(program));
        command.args(arguments).stdin(stdin).stderr(Stdio::null());
        command.stdout(File::create(output).map_err(|error| Error::in_file(output, error))?);
        command.env("OVERTAKE_BACK_END", back_end);
        if let Some(plan) = plan {
            command.env("OVERTAKE_GATES", plan);
        }
        command.spawn().map_err(failed)
    }
}

/// Waits for a program. After the time `most` it is killed, and there is no status. When its client ends, the program is asked to end.
fn watch(child: &mut Child, mut client: Option<Child>, most: Duration) -> io::Result<Option<ExitStatus>> {
    let end_of_patience = Instant::now() + most;
    let mut status = child.try_wait()?;
    while status.is_none() && Instant::now() < end_of_patience {
        await_end([Some(&*child), client.as_ref()], end_of_patience)?;
        status = child.try_wait()?;
        if let Some(running) = &mut client
            && running.try_wait()?.is_some()
        {
            client = None;
            end(child);
        }
    }
    if status.is_none() {
        child.kill().and_then(|()| child.wait())?;
    }
    if let Some(mut client) = client {
        let _ = client.kill(); // it may have ended by itself
        client.wait()?;
    }
    Ok(status)
}

/// Waits until one of the children has ended, but not longer than `until`.
fn await_end(children: [Option<&Child>; 2], until: Instant) -> io::Result<()> {
    let mut descriptors = Vec::new();
    for child in children.into_iter().flatten() {
        let process = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::InvalidInput)?;
        descriptors.push(pidfd_open(process, PidfdFlags::empty())?);
    }
    let mut polled: Vec<_> =
        descriptors.iter().map(|descriptor| PollFd::new(descriptor, PollFlags::IN)).collect();
    let left = Timespec::try_from(until.saturating_duration_since(Instant::now())).unwrap_or_default();
    match poll(&mut polled, Some(&left)) {
        Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error.into()),
    }
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

/// Runs a shell command to its end. It must succeed.
fn shell(command: Option<&str>) -> Result<(), Error> {
    let Some(command) = command else { return Ok(()) };
    let status = spawned(command)?.wait().map_err(|error| Error::failed(format!("{command}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::failed(format!("`{command}` failed: {status}"))),
    }
}

fn spawned(command: &str) -> Result<Child, Error> {
    Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| Error::failed(format!("{command}: {error}")))
}

/// Asks a process to end.
fn end(child: &Child) {
    if let Some(process) = Pid::from_raw(child.id() as i32) {
        let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM); // it may have ended by itself
    }
}

//! `overtake cluster`: starts the processes of a job and watches over them.
//!
//! A process whose address is of this machine is started here, any other by ssh on its host. The first one that ends badly ends the job,
//! with a message that names it.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use overtake::Error;
use tempfile::NamedTempFile;

use crate::command_line::args::{ClusterArguments, read_hosts};
use crate::command_line::verdict::{Outcome, Verdict};

/// Between two looks at the processes.
const PAUSE: Duration = Duration::from_millis(20);

/// The exit code that says that races were reported.
const RACES: i32 = 66;

/// Starts the processes and waits for them.
pub(crate) fn run(arguments: &ClusterArguments) -> Outcome {
    let mut temporary = None;
    let (hosts, file) = match (&arguments.hosts, arguments.local) {
        (Some(file), _) => (read_hosts(file)?, file.clone()),
        (None, processes) => {
            let hosts = free_addresses(processes.unwrap_or(2).into())?;
            let file = temporary.insert(host_file(&hosts)?).path().to_owned();
            (hosts, file)
        }
    };
    let mut job = Job { hosts, processes: Vec::new() };
    for process in 0..job.hosts.len() {
        job.start(process, &file, arguments)?;
    }
    job.wait()
}

/// Addresses of this machine, reachable from here only, that nobody uses.
fn free_addresses(processes: usize) -> Result<Vec<String>, Error> {
    let failed = |error| Error::failed(format!("no free port on this machine: {error}"));
    let bind = |_| TcpListener::bind("127.0.0.1:0").map_err(failed);
    // All at the same time, so that they differ.
    let listeners = (0..processes).map(bind).collect::<Result<Vec<_>, _>>()?;
    let addresses = listeners.iter().map(|listener| Ok(listener.local_addr().map_err(failed)?.to_string()));
    addresses.collect()
}

fn host_file(hosts: &[String]) -> Result<NamedTempFile, Error> {
    let failed = |error| Error::failed(format!("the host file cannot be written: {error}"));
    let mut file = NamedTempFile::new().map_err(failed)?;
    writeln!(file, "{}", hosts.join("\n")).map_err(failed)?;
    Ok(file)
}

/// The processes of a job. Those that still run when it is dropped are ended.
struct Job {
    hosts: Vec<String>,
    processes: Vec<Process>,
}

struct Process {
    child: Child,
    status: Option<ExitStatus>,
}

impl Job {
    fn start(&mut self, process: usize, file: &Path, arguments: &ClusterArguments) -> Result<(), Error> {
        let mut typed: Vec<OsString> = vec!["analyze".into()];
        typed.extend(arguments.analyze.iter().cloned());
        typed.extend(["--hosts".into(), file.into(), "--process".into(), process.to_string().into()]);
        let host = host_of(&self.hosts[process]);
        let mut command = if is_here(host) {
            let own = std::env::current_exe();
            Command::new(own.unwrap_or_else(|_| PathBuf::from("overtake")))
        } else {
            let mut ssh = Command::new(&arguments.ssh);
            ssh.arg(host).arg("overtake");
            typed = typed.iter().map(|word| quoted(word)).collect();
            ssh
        };
        command.args(&typed).stdin(Stdio::null());
        if process > 0 {
            command.stdout(Stdio::null());
        }
        let child = command
            .spawn()
            .map_err(|error| Error::failed(format!("{} cannot be started: {error}", self.name(process))))?;
        self.processes.push(Process { child, status: None });
        Ok(())
    }

    fn name(&self, process: usize) -> String {
        format!("process {process} ({})", self.hosts[process])
    }

    /// Waits until all processes have ended, or one of them badly.
    fn wait(&mut self) -> Outcome {
        loop {
            for process in &mut self.processes {
                if process.status.is_none() {
                    process.status =
                        process.child.try_wait().map_err(|error| Error::failed(error.to_string()))?;
                }
            }
            if let Some(failure) = self.failure() {
                return Err(Error::failed(failure));
            }
            let codes: Option<Vec<_>> = self.processes.iter().map(|process| process.status).collect();
            if let Some([first, ..]) = codes.as_deref() {
                return Ok(Verdict::Program(first.code().unwrap_or(1) as u8));
            }
            std::thread::sleep(PAUSE);
        }
    }

    /// What to say of the process that ended badly. Others may have ended because of it: one that was killed is the cause.
    fn failure(&self) -> Option<String> {
        let ended = self.processes.iter().enumerate();
        let mut bad: Vec<_> = ended
            .filter_map(|(process, Process { status, .. })| Some((process, (*status)?)))
            .filter(|(process, status)| !(status.success() || *process == 0 && status.code() == Some(RACES)))
            .collect();
        bad.sort_by_key(|(process, status)| (status.signal().is_none(), *process));
        let (process, status) = bad.first()?;
        Some(match (status.signal(), status.code()) {
            (Some(signal), _) => {
                format!("{} was killed by signal {signal}: the job is over", self.name(*process))
            }
            (_, code) => {
                let code = code.unwrap_or(1);
                format!("{} ended with exit code {code}: the job is over", self.name(*process))
            }
        })
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for Process { child, status } in &mut self.processes {
            if status.is_none() {
                // It may have ended by now.
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

/// The host of `host:port`.
fn host_of(address: &str) -> &str {
    address.rsplit_once(':').map_or(address, |(host, _)| host).trim_matches(['[', ']'])
}

fn is_here(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

/// A word for the shell of another machine.
fn quoted(word: &OsStr) -> OsString {
    let mut quoted = OsString::from("'");
    let text = word.to_string_lossy().replace('\'', r"'\''");
    quoted.push(text);
    quoted.push("'");
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_this_machine_are_known() {
        for (address, host, here) in [
            ("127.0.0.1:4000", "127.0.0.1", true),
            ("localhost:4000", "localhost", true),
            ("[::1]:4000", "::1", true),
            ("worker7:4000", "worker7", false),
        ] {
            assert_eq!((host_of(address), is_here(host)), (host, here));
        }
    }

    #[test]
    fn words_for_another_shell_are_quoted() {
        assert_eq!(quoted(OsStr::new("it's $HOME")), OsStr::new(r"'it'\''s $HOME'"));
    }
}

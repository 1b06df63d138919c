//! What is around a program that runs: commands before and after it, a client beside it, its standard input, its environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};

use crate::Error;

/// What is done around each run of a program.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Surroundings {
    /// A shell command that runs before each run.
    pub setup: Option<String>,
    /// A shell command that runs after each run.
    pub teardown: Option<String>,
    /// A shell command that runs beside the program; when it ends, the program gets `SIGTERM`.
    pub client: Option<String>,
    /// The file that the program reads as standard input.
    pub stdin: Option<PathBuf>,
    /// The directory in which the program runs, if it is not the current one.
    pub directory: Option<PathBuf>,
    /// All environment variables of the program, if they are not those of this process.
    pub environment: Option<BTreeMap<OsString, OsString>>,
}

impl Surroundings {
    /// Runs the command that comes before a run.
    pub fn prepare(&self) -> Result<(), Error> {
        shell(self.setup.as_deref())
    }

    /// Runs the command that comes after a run.
    pub fn clean_up(&self) -> Result<(), Error> {
        shell(self.teardown.as_deref())
    }

    /// Gives a program its standard input, its directory and its environment.
    pub(crate) fn surround(&self, command: &mut Command) -> Result<(), Error> {
        if let Some(file) = &self.stdin {
            command.stdin(File::open(file).map_err(|error| Error::in_file(file, error))?);
        }
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        if let Some(environment) = &self.environment {
            command.env_clear().envs(environment);
        }
        Ok(())
    }

    /// Starts the client of a program that runs. If there can be none, the program is ended: nobody else would end it.
    pub(crate) fn start_client(&self, program: &mut Child) -> Result<Option<Client>, Error> {
        let Some(command) = self.client.as_deref() else { return Ok(None) };
        let client = Client::start(command, program);
        if client.is_err() {
            let _ = program.kill(); // it may have ended by itself
            let _ = program.wait();
        }
        client.map(Some)
    }
}

/// A client that runs beside a program. When it ends, it asks the program to end.
pub(crate) struct Client {
    /// Its number, which is also that of its process group: a shell may have started more processes.
    group: Pid,
    watcher: JoinHandle<()>,
}

impl Client {
    fn start(command: &str, program: &Child) -> Result<Client, Error> {
        let failed = |error: std::io::Error| Error::failed(format!("{command}: {error}"));
        // A descriptor stands for this process only, not for a later one with the same number.
        let program = pidfd_open(Pid::from_child(program), PidfdFlags::empty());
        let program = program.map_err(|error| failed(error.into()))?;
        let mut client = shell_command(command).process_group(0).spawn().map_err(failed)?;
        let group = Pid::from_child(&client);
        let watch = move || {
            let _ = client.wait(); // however it ends
            let _ = pidfd_send_signal(&program, Signal::TERM); // the program may have ended by itself
        };
        let watcher = std::thread::Builder::new().spawn(watch).map_err(failed)?;
        Ok(Client { group, watcher })
    }

    /// Ends the client: the program is over.
    pub(crate) fn end(self) {
        if !self.watcher.is_finished() {
            let _ = kill_process_group(self.group, Signal::KILL); // it may just have ended by itself
        }
        let _ = self.watcher.join();
    }
}

/// Runs a shell command to its end. It must succeed.
fn shell(command: Option<&str>) -> Result<(), Error> {
    let Some(command) = command else { return Ok(()) };
    let status =
        shell_command(command).status().map_err(|error| Error::failed(format!("{command}: {error}")))?;
    match status.success() {
        true => Ok(()),
        false => Err(Error::failed(format!("`{command}` failed: {status}"))),
    }
}

fn shell_command(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null());
    shell
}

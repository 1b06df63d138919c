//! Runs of the program itself under the stopwatch.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use overtake::Error;

/// Where measurements take place.
pub(super) struct Lab {
    program: PathBuf,
    directory: PathBuf,
}

/// Something to measure.
pub(super) enum Task {
    /// Counts lines with `wc`: the yardstick W.
    CountLines(PathBuf),
    /// Runs the program with these arguments.
    Overtake(Vec<String>),
}

impl Task {
    /// The program with arguments separated by blanks, then a file.
    pub(super) fn overtake(arguments: &str, file: &Path) -> Task {
        let mut arguments: Vec<_> = arguments.split_whitespace().map(str::to_owned).collect();
        arguments.push(file.display().to_string());
        Task::Overtake(arguments)
    }
}

impl Lab {
    /// Files of measurements go to `directory`.
    pub(super) fn new(directory: &Path) -> Result<Lab, Error> {
        std::fs::create_dir_all(directory).map_err(|error| Error::in_file(directory, error))?;
        let program = std::env::current_exe().map_err(|error| Error::failed(error.to_string()))?;
        Ok(Lab { program, directory: directory.to_owned() })
    }

    /// The path of a file in the laboratory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Does a task once and returns the time it took: processor time where the system tells, else time on the clock.
    pub(super) fn time(&self, task: &Task) -> Result<Duration, Error> {
        let mut command = match task {
            Task::CountLines(file) => {
                let mut command = Command::new("wc");
                command.arg("-l").arg(file);
                command
            }
            Task::Overtake(arguments) => {
                let mut command = Command::new(&self.program);
                command.arg("--quiet").args(arguments);
                command
            }
        };
        let start = Instant::now();
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
        let mut child = child.map_err(|error| not_started(&command, &error))?;
        let processor_time = processor_time(&child);
        let status = child.wait().map_err(|error| not_started(&command, &error))?;
        match status.code() {
            Some(0 | 66) => Ok(processor_time.unwrap_or_else(|| start.elapsed())),
            code => Err(Error::failed(format!("{command:?} ended with {code:?}"))),
        }
    }

    /// Median times of tasks done in turn, `runs` times each: a noisy minute hits all of them alike.
    pub(super) fn medians(&self, tasks: &[Task], runs: usize) -> Result<Vec<Duration>, Error> {
        let mut times = vec![Vec::with_capacity(runs); tasks.len()];
        for _ in 0..runs {
            for (task, times) in tasks.iter().zip(&mut times) {
                times.push(self.time(task)?);
            }
        }
        Ok(times.into_iter().map(median).collect())
    }
}

/// The middle one of the times, zero for none.
pub(super) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Waits for a child to end and returns how long its main thread had a processor.
///
/// On a machine that does other work too, time on the clock says little. Until a child is reaped, the kernel still knows
/// its time to the nanosecond.
#[cfg(target_os = "linux")]
fn processor_time(child: &Child) -> Option<Duration> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let pid = Pid::from_child(child);
    waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok()?;
    let statistics = std::fs::read_to_string(format!("/proc/{}/schedstat", child.id())).ok()?;
    let nanoseconds = statistics.split(' ').next()?.parse().ok().filter(|&nanoseconds| nanoseconds > 0)?;
    Some(Duration::from_nanos(nanoseconds))
}

#[cfg(not(target_os = "linux"))]
fn processor_time(_: &Child) -> Option<Duration> {
    None
}

fn not_started(command: &Command, error: &io::Error) -> Error {
    Error::failed(format!("cannot start {:?}: {error}", command.get_program()))
}

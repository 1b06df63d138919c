//! Runs of the program itself under the stopwatch.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::failure::Failure;

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
    pub(super) fn new(directory: &Path) -> Result<Lab, Failure> {
        std::fs::create_dir_all(directory).map_err(|error| Failure::in_file(directory, error))?;
        let program = std::env::current_exe().map_err(|error| Failure::Error(error.to_string()))?;
        Ok(Lab { program, directory: directory.to_owned() })
    }

    /// The path of a file in the laboratory.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Does a task once and returns the time it took.
    pub(super) fn time(&self, task: &Task) -> Result<Duration, Failure> {
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
        let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
        let time = start.elapsed();
        match status.map(|status| status.code()) {
            Ok(Some(0 | 66)) => Ok(time),
            Ok(code) => Err(Failure::Error(format!("{command:?} ended with {code:?}"))),
            Err(error) => Err(not_started(&command, &error)),
        }
    }

    /// Median times of tasks done in turn, `runs` times each: a noisy minute hits all of them alike.
    pub(super) fn medians(&self, tasks: &[Task], runs: usize) -> Result<Vec<Duration>, Failure> {
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

fn not_started(command: &Command, error: &io::Error) -> Failure {
    Failure::Error(format!("cannot start {:?}: {error}", command.get_program()))
}

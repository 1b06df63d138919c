//! Who shares the work of `analyze`, and `cluster`, which starts them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use overtake::Error;
use overtake::workers::{Crew, Processes};

/// Who shares the work.
#[derive(Args, Clone)]
#[command(next_help_heading = "Several cores or machines")]
pub(crate) struct CrewArguments {
    /// Share the work among this many threads; the result is the same. Of a directory, this many traces at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) workers: Option<u16>,

    /// Share the work among processes, whose addresses (host:port) are the lines of this file; --workers is then for each of them
    #[arg(long, value_name = "FILE", requires = "process")]
    pub(crate) hosts: Option<PathBuf>,

    /// Be the process in this line of the host file, counted from 0; process 0 reports
    #[arg(long, value_name = "I", requires = "hosts")]
    pub(crate) process: Option<usize>,

    /// Judge the variables of a trace in this many slices, one after the other; each reads the trace
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024), default_value_t = 1, hide_default_value = true)]
    pub(crate) slices: u16,

    /// Keep what is finished in this directory, and take from there what an earlier job finished: traces of a directory, or slices of a trace
    #[arg(long, value_name = "DIR")]
    pub(crate) resume: Option<PathBuf>,
}

impl CrewArguments {
    /// The crew, if there is one.
    pub(crate) fn crew(&self) -> Result<Option<Crew>, Error> {
        let threads = self.workers.map(usize::from).or((self.slices > 1).then_some(1));
        let (Some(file), Some(own)) = (&self.hosts, self.process) else {
            return Ok(threads.map(Crew::Threads));
        };
        let hosts = read_hosts(file)?;
        if own >= hosts.len() {
            let lines = hosts.len();
            return Err(Error::usage(format!(
                "expected a process below {lines}, the lines of {}, found {own}",
                file.display()
            )));
        }
        Ok(Some(Crew::Processes(Processes { hosts, own, threads: threads.unwrap_or(1) })))
    }
}

/// The addresses of a host file.
pub(crate) fn read_hosts(file: &Path) -> Result<Vec<String>, Error> {
    let text = std::fs::read_to_string(file).map_err(|error| Error::in_file(file, error))?;
    match Processes::read_hosts(&text) {
        hosts if hosts.is_empty() => {
            Err(Error::in_file(file, "expected a line host:port for each process, found none"))
        }
        hosts => Ok(hosts),
    }
}

/// `cluster`.
#[derive(Args)]
pub(crate) struct ClusterArguments {
    /// The addresses (host:port) of the processes, one in each line; processes of other hosts are started by ssh
    #[arg(long, value_name = "FILE", conflicts_with = "local", required_unless_present = "local")]
    pub(crate) hosts: Option<PathBuf>,

    /// Start this many processes on this machine, which only it can reach
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) local: Option<u16>,

    /// The program that starts a process on another host, called as: ssh HOST overtake analyze ...
    #[arg(long, value_name = "PROGRAM", default_value = "ssh")]
    pub(crate) ssh: PathBuf,

    /// The trace, and options of `overtake analyze`
    #[arg(value_name = "ANALYZE", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) analyze: Vec<OsString>,
}

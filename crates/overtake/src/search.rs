//! The races of recorded processes and of traces.

use std::fs;
use std::path::Path;

use overtake_detect::{Entry, Options, Strictness, find};
use overtake_report::result::Report;

use crate::files::Input;
use crate::recording::{losses, seal_log};
use crate::reports::{self, Details};
use crate::{Error, Examined, Listener};

/// Longer traces are searched for predicted races within a window.
const LONG_TRACE: u64 = 2_000_000;

/// Where files lie in memory, and the name of a trace there.
const MEMORY: &str = "/dev/shm";
const IN_MEMORY: &str = "trace.otr";

/// How to look for races.
#[derive(Clone, Default)]
pub struct Search {
    /// The detectors; if there are none, those that suit the trace.
    pub detectors: Vec<&'static Entry>,
    /// Their settings.
    pub options: Options,
    /// How much is told about findings.
    pub details: Details,
}

impl Search {
    /// Seals a log into `trace`, which is removed again, and looks for races in it.
    pub fn in_log(&self, log: &Path, trace: &Path, listener: &dyn Listener) -> Result<Report, Error> {
        let mut in_memory = None;
        let sealed = seal_log(log, trace).or_else(|failure| {
            // The log may have filled the disk. Whatever it is, the first failure says more.
            let Ok(memory) = tempfile::Builder::new().prefix("overtake-trace-").tempdir_in(MEMORY) else {
                return Err(failure);
            };
            let trace = in_memory.insert(memory).path().join(IN_MEMORY);
            seal_log(log, &trace).map_err(|_| failure)
        });
        listener.say(&losses(&sealed?.0));
        let trace =
            in_memory.as_ref().map_or_else(|| trace.to_owned(), |memory| memory.path().join(IN_MEMORY));
        let mut report = self.in_file(&trace)?;
        report.runs.iter_mut().for_each(|run| run.trace.clear());
        fs::remove_file(&trace).map_err(|error| Error::in_file(&trace, error))?;
        Ok(report)
    }

    /// Looks for races in a trace of any format.
    pub fn in_file(&self, path: impl AsRef<Path>) -> Result<Report, Error> {
        self.in_input(&mut Input::new(path.as_ref()), Strictness::Repair, &())
    }

    /// Looks for races in a trace.
    pub fn in_input(
        &self,
        input: &mut Input,
        strictness: Strictness,
        listener: &dyn Listener,
    ) -> Result<Report, Error> {
        input.make_rereadable(strictness, listener)?;
        let detectors = self.suited(input);
        let examined = Examined::of(input, &detectors, &self.options, strictness, listener)?;
        reports::collected(&examined, input, &self.details)
    }

    fn suited(&self, input: &Input) -> Vec<&'static Entry> {
        if !self.detectors.is_empty() {
            return self.detectors.clone();
        }
        let is_long = input.at_any_place().is_some_and(|file| file.parameters().events > LONG_TRACE);
        let predicting = if is_long { "short-syncp" } else { "syncp" };
        ["hb", predicting].into_iter().filter_map(find).collect()
    }
}

//! The races of a recorded process.

use std::fs;
use std::path::{Path, PathBuf};

use overtake_detect::{Entry, Options, Strictness, find};
use overtake_report::find_renderer;
use overtake_report::result::Report;
use overtake_trace::OtrFile;

use super::examine::Examined;
use crate::args::{InputArguments, ReportArguments, ReportTarget};
use crate::console::{Console, Stream};
use crate::failure::{Failure, Outcome, Verdict};
use crate::files::Input;
use crate::recording::{losses, seal_log};
use crate::reports;

/// Tells of a program's findings where `TSAN_OPTIONS` wants them told; `process` is its number.
pub(crate) fn tell(
    found: Report,
    reports: &ReportArguments,
    process: Option<&str>,
    console: Console,
) -> Outcome {
    let said = reports.triage.options();
    for key in &said.unknown {
        console.say(&format!("TSAN_OPTIONS: no option is called `{key}`"));
    }
    if said.is_off {
        return Ok(Verdict::Fine);
    }
    let mut reports = reports.clone();
    let stream = match said.log_path.as_deref() {
        None | Some("stderr") => Some(Stream::Error),
        Some("stdout") => Some(Stream::Output),
        Some(path) => {
            let file = PathBuf::from(format!("{path}.{}", process.unwrap_or("0")));
            let renderer = find_renderer("text").filter(|_| !found.findings.is_empty());
            reports.report.extend(renderer.map(|renderer| ReportTarget { renderer, file }));
            None
        }
    };
    reports::deliver(found, &reports, stream, console)
}

/// Longer traces are searched for predicted races within a window.
const LONG_TRACE: u64 = 2_000_000;

/// Where files lie in memory, and the name of a trace there.
const MEMORY: &str = "/dev/shm";
const IN_MEMORY: &str = "trace.otr";

/// How to look for races.
pub(crate) struct Search<'a> {
    /// Empty: those that suit the trace.
    pub(crate) detectors: &'a [&'static Entry],
    pub(crate) options: Options,
    pub(crate) reports: &'a ReportArguments,
}

impl Search<'_> {
    /// Seals a log into `trace`, which is removed again, and looks for races in it.
    pub(crate) fn in_log(&self, log: &Path, trace: &Path, console: Console) -> Result<Report, Failure> {
        let mut in_memory = None;
        let sealed = seal_log(log, trace).or_else(|failure| {
            // The log may have filled the disk. Whatever it is, the first failure says more.
            let Ok(memory) = tempfile::Builder::new().prefix("overtake-trace-").tempdir_in(MEMORY) else {
                return Err(failure);
            };
            let trace = in_memory.insert(memory).path().join(IN_MEMORY);
            seal_log(log, &trace).map_err(|_| failure)
        });
        console.say(&losses(&sealed?.0));
        let trace =
            in_memory.as_ref().map_or_else(|| trace.to_owned(), |memory| memory.path().join(IN_MEMORY));
        let mut report = self.in_trace(&trace, console)?;
        report.runs.iter_mut().for_each(|run| run.trace.clear());
        fs::remove_file(&trace).map_err(|error| Failure::in_file(&trace, error))?;
        Ok(report)
    }

    /// Looks for races in a sealed trace.
    pub(crate) fn in_trace(&self, trace: &Path, console: Console) -> Result<Report, Failure> {
        let arguments = InputArguments { trace: trace.to_owned(), format: None, salvage: false };
        let detectors = self.suited(trace)?;
        let mut input = Input::new(&arguments);
        let examined =
            Examined::of(&mut input, &detectors, &self.options, Strictness::Repair, console.quietly())?;
        reports::collected(&examined, &mut input, self.reports)
    }

    fn suited(&self, trace: &Path) -> Result<Vec<&'static Entry>, Failure> {
        if !self.detectors.is_empty() {
            return Ok(self.detectors.to_vec());
        }
        let file = OtrFile::open(trace).map_err(|error| Failure::in_file(trace, error))?;
        let predicting = if file.parameters().events > LONG_TRACE { "short-syncp" } else { "syncp" };
        Ok(["hb", predicting].into_iter().filter_map(find).collect())
    }
}

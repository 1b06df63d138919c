//! A directory of traces, such as those of a night of tests, analysed as one job.
//!
//! Every trace is one run, analysed by itself; several are at work at the same time. Their findings become one report: those with the
//! same fingerprint are one, with all their counts, and with the runs that have them, the first one first. The order is that of
//! the files' names, whoever finishes first.
//!
//! **Going on.** With a directory for finished parts, the result of each trace is stored there as soon as it is known, complete or not at
//! all. A later job that asks for the same thing takes it from there. The name of a part depends on the trace's path, size and time of
//! change, on detectors and settings, and on our version: whatever differs is analysed again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::{fs, thread};

use overtake_detect::Strictness;
use overtake_report::collect::merge;
use overtake_report::result::Report;

use crate::files::{Input, OutputFile, traces_of};
use crate::{Error, Search, reports};

/// A job over all traces of a directory.
pub struct Runs<'a> {
    /// What is looked for in each.
    pub search: &'a Search,
    /// What happens to traces that are not well formed.
    pub strictness: Strictness,
    /// How many traces are at work at the same time.
    pub workers: usize,
    /// Where finished parts are kept.
    pub parts: Option<&'a Path>,
}

/// What a job found.
pub struct FoundInRuns {
    /// The findings of all traces.
    pub report: Report,
    /// Traces that could not be analysed, and why.
    pub failures: Vec<Error>,
    /// How many traces were not analysed because their parts were there.
    pub resumed: usize,
}

/// What became of one trace.
struct Done {
    result: Result<Report, Error>,
    resumed: bool,
}

impl Runs<'_> {
    /// Analyses the traces of a directory.
    pub fn in_directory(&self, directory: &Path) -> Result<FoundInRuns, Error> {
        let traces = traces_of(&[directory.to_owned()])?;
        if let Some(parts) = self.parts {
            fs::create_dir_all(parts).map_err(|error| Error::in_file(parts, error))?;
        }
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(trace) = traces.get(number) else { break };
                let found = self.part(trace);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((number, found));
            }
        };
        thread::scope(|scope| (0..self.workers.max(1)).for_each(|_| drop(scope.spawn(work))));
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(number, _)| *number);
        let done = done.into_iter().map(|(_, done)| done);
        Ok(together(done))
    }

    /// The findings of one trace: stored ones, or new ones, which are stored.
    fn part(&self, trace: &Path) -> Done {
        let part = self.parts.and_then(|parts| Some(parts.join(self.name_of_part(trace)?)));
        let known = part.as_deref().filter(|part| part.is_file());
        if let Some(report) = known.and_then(|part| reports::stored(part).ok()) {
            return Done { result: Ok(report), resumed: true };
        }
        let found = self.search.in_input(&mut Input::new(trace), self.strictness, &());
        let result = found.and_then(|report| {
            part.map_or(Ok(()), |part| store(&report, &part))?;
            Ok(report)
        });
        Done { result, resumed: false }
    }

    /// The file of a trace's part. None for a trace that is gone.
    fn name_of_part(&self, trace: &Path) -> Option<String> {
        let Search { detectors, suspects, options, details, .. } = self.search;
        let names: Vec<_> = detectors.iter().map(|entry| entry.name).collect();
        let settings = format!("{options:?} {details:?} {:?}", self.strictness);
        Some(name_of_job(trace, (names, suspects, settings))? + ".json")
    }
}

/// A name for what is asked of a trace. It depends on the trace's path, size and time of change, on what is asked, and on our version. None for a
/// trace that is gone.
pub(crate) fn name_of_job(trace: &Path, asked: impl Hash) -> Option<String> {
    let file = fs::metadata(trace).ok()?;
    let mut hasher = DefaultHasher::new();
    (trace, file.len(), file.modified().ok(), env!("CARGO_PKG_VERSION"), asked).hash(&mut hasher);
    let name = trace.file_name()?.to_string_lossy();
    Some(format!("{name}.{:016x}", hasher.finish()))
}

/// Stores a part, complete or not at all.
fn store(report: &Report, part: &Path) -> Result<(), Error> {
    let (file, mut output) = OutputFile::create(part)?;
    let write = overtake_report::find_renderer("result").map(|renderer| renderer.write);
    let written = write.map_or(Ok(()), |write| write(&mut output, report)).and_then(|()| output.flush());
    written.map_err(|error| Error::in_file(part, error))?;
    drop(output);
    file.complete().map(drop)
}

fn together(done: impl Iterator<Item = Done>) -> FoundInRuns {
    let (mut reports, mut failures, mut resumed) = (Vec::new(), Vec::new(), 0);
    for Done { result, resumed: is_resumed } in done {
        resumed += usize::from(is_resumed);
        match result {
            Ok(report) => reports.push(report),
            Err(error) => failures.push(error),
        }
    }
    FoundInRuns { report: merge(reports), failures, resumed }
}

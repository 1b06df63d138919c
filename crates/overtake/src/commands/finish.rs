//! `overtake finish`: what a program calls that was built with our compilers and started directly.

use std::fs;
use std::path::Path;

use overtake_detect::Options;

use super::races::Search;
use crate::args::ReportArguments;
use crate::console::{Console, Stream};
use crate::failure::Outcome;
use crate::reports;
use crate::triage::OwnWords;

/// Reports the races in a log and removes it.
pub(crate) fn run(log: &Path, console: Console) -> Outcome {
    let mut arguments = ReportArguments::default();
    arguments.triage.own = OwnWords::of(Path::new(""), &[log.to_owned()]);
    let search = Search { detectors: &[], options: Options::default(), reports: &arguments };
    let report = search.in_log(log, &log.join("trace.otr"), console)?;
    // What is left behind is not worth an error.
    let _ = fs::remove_dir_all(log);
    reports::deliver(report, &arguments, Some(Stream::Error), console)
}

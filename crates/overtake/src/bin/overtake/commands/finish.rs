//! `overtake finish`: what a program calls that was built with our compilers and started directly.

use std::fs;
use std::path::Path;

use overtake::recording::process_of;
use overtake::triage::OwnWords;
use overtake::{Listener, Search};

use crate::args::{ReportArguments, report_parser};
use crate::console::Console;
use crate::delivery::tell_of_program;
use crate::verdict::Outcome;

/// Reports the races in a log and removes it. The exit code says whether there are any; the program knows what its own is then.
pub(crate) fn run(log: &Path, console: Console) -> Outcome {
    let mut arguments = from_environment(log, console);
    arguments.triage.own = OwnWords::of(Path::new(""), &[log.to_owned()]);
    let search = Search { details: arguments.details(), ..Search::default() };
    let report = search.in_log(log, &log.join("trace.otr"), &console)?;
    // What is left behind is not worth an error.
    let _ = fs::remove_dir_all(log);
    tell_of_program(report, &arguments, process_of(log), console)
}

/// What `OVERTAKE_REPORT` asks for: `FORMAT=FILE`, several separated by commas; `%p` in a file's name is the process.
fn from_environment(log: &Path, console: Console) -> ReportArguments {
    let mut arguments = ReportArguments::default();
    let wanted = std::env::var("OVERTAKE_REPORT").unwrap_or_default();
    let process = process_of(log).unwrap_or("0");
    for target in wanted.split(',').filter(|target| !target.is_empty()) {
        match report_parser(target.replace("%p", process).as_ref()) {
            Ok(target) => arguments.report.push(target),
            Err(error) => console.say(&format!("OVERTAKE_REPORT: {error}")),
        }
    }
    arguments
}

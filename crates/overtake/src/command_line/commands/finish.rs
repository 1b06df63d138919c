//! `overtake finish`: called at the end of a program that our compilers built and that was started directly.

use std::path::Path;

use overtake::recording::{Descendants, Leftover, leftovers, process_of, remove, scratch_directory, trusted};
use overtake::triage::OwnWords;
use overtake::{Error, Listener, Search};
use overtake_detect::Registry;

use crate::command_line::args::{ReportArguments, report_parser};
use crate::command_line::console::Console;
use crate::command_line::delivery::tell_of_program;
use crate::command_line::verdict::{Outcome, Verdict};

/// Reports the races in a log and removes it, or lists the logs that were not reported. The exit code says whether there are races; the
/// program chooses its own exit code from it.
pub(crate) fn run(log: Option<&Path>, registry: Registry, console: Console) -> Outcome {
    let Some(log) = log else { return list(console) };
    let kept = |failure: Error| Error::failed(format!("{failure}; the log is kept: {}", log.display()));
    trusted(log).map_err(kept)?;
    let mut arguments = from_environment(log, console);
    arguments.triage.own = OwnWords::of(Path::new(""), &[log.to_owned()]);
    let search = Search { details: arguments.details(), registry, ..Search::default() };
    let searched = search.in_log(log, &log.join("trace.otr"), &console).map_err(kept)?;
    let told = tell_of_program(searched.report, &arguments, process_of(log), console);
    let verdict = told.map_err(kept)?;
    let below = Descendants::of(log);
    remove(log);
    let has_races = verdict == Verdict::Races || below.races;
    let all = Descendants { races: has_races, unchecked: searched.is_incomplete || below.unchecked };
    tell_ancestor(log, all);
    match (all.races, searched.is_incomplete, below.unchecked) {
        (true, ..) => Ok(Verdict::Races),
        (_, true, _) => Err(Error::failed("not everything was recorded, so not everything was checked")),
        (_, _, true) => Err(Error::failed("a program that this one started was not checked")),
        _ => Ok(verdict),
    }
}

/// If the process of the log is waiting for us, an ancestor may be waiting for it.
fn tell_ancestor(log: &Path, outcome: Descendants) {
    let process = process_of(log).and_then(|process| process.parse().ok());
    if process == Some(std::os::unix::process::parent_id()) {
        outcome.tell_ancestor_of(std::os::unix::process::parent_id());
    }
}

/// Lists the logs of dead processes.
fn list(console: Console) -> Outcome {
    let lines = leftovers(&scratch_directory(&console)).into_iter().map(|Leftover { log, command }| {
        format!("overtake finish {}    # {}\n", log.display(), command.join(" "))
    });
    console.print(&lines.collect::<String>())?;
    Ok(Verdict::Fine)
}

/// What `OVERTAKE_REPORT` asks for: `FORMAT=FILE`, several separated by commas; `%p` in a file's name is the process number.
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

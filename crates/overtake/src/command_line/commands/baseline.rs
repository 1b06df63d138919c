//! `overtake baseline`: the races that are known from now on.

use std::io::Write;
use std::path::Path;

use overtake::files::OutputFile;
use overtake::reports;
use overtake::triage::{Triage, read_baseline};
use overtake::{Error, Examined, Input, Listener};
use overtake_detect::{Registry, Strictness};
use overtake_report::collect::merge;
use overtake_report::result::Report;
use overtake_report::triage::{Baseline, Merged, today};

use crate::command_line::args::BaselineArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Adds the races of results and traces to a baseline, which is created if it does not exist.
pub(crate) fn run(arguments: &BaselineArguments, registry: Registry, console: Console) -> Outcome {
    let found: Result<Vec<_>, _> =
        arguments.inputs.iter().map(|input| races_of(input, arguments, registry, console)).collect();
    let mut report = merge(found?);
    let triage = Triage { suppressions: arguments.suppressions.clone(), ..Triage::default() };
    triage.judge(&mut report, &console)?;
    let mut baseline = match arguments.out.exists() {
        true => read_baseline(&arguments.out)?,
        false => Baseline::default(),
    };
    let merged = baseline.merge(&report, &arguments.reason, &today(), arguments.prune);
    write(&arguments.out, &baseline)?;
    console.say(&summary(&merged, arguments));
    Ok(Verdict::Fine)
}

fn summary(merged: &Merged, arguments: &BaselineArguments) -> String {
    let Merged { added, kept, not_found } = merged;
    let fate = match (not_found, arguments.prune) {
        (0, _) => String::new(),
        (_, true) => format!(", {not_found} not found and removed"),
        (_, false) => format!(", {not_found} not found (--prune removes them)"),
    };
    format!("{}: {added} added, {kept} known before{fate}", arguments.out.display())
}

/// The races of a stored result, or those that an analysis finds in a trace.
fn races_of(
    input: &Path,
    arguments: &BaselineArguments,
    registry: Registry,
    console: Console,
) -> Result<Report, Error> {
    if reports::is_stored(input)? {
        return reports::stored(input);
    }
    let mut opened = Input::new(input);
    opened.make_rereadable(Strictness::Repair, &console)?;
    let search = arguments.detector.search(&arguments.options, registry);
    let (detectors, options) = (search.suited(&opened)?, &search.options);
    let examined = Examined::of(&mut opened, &detectors, options, Strictness::Repair, &console)?;
    let examined = examined.with_events()?;
    Ok(reports::collected_at_once(&examined.analysed()))
}

fn write(path: &Path, baseline: &Baseline) -> Result<(), Error> {
    let (file, mut output) = OutputFile::create(path)?;
    let text = baseline.to_text();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|error| Error::in_file(path, error))?;
    drop(output);
    file.complete().map(drop)
}

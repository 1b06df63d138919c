//! `overtake report`: stored results, rendered again.

use overtake::reports::stored;
use overtake_report::collect::merge;

use crate::command_line::args::StoredArguments;
use crate::command_line::console::{Console, Stream};
use crate::command_line::delivery::deliver;
use crate::command_line::verdict::Outcome;

/// Reads results, merges them if there are several, and delivers the outcome as the analysis did.
pub(crate) fn run(arguments: &StoredArguments, console: Console) -> Outcome {
    let mut reports = arguments.results.iter().map(|result| stored(result)).collect::<Result<Vec<_>, _>>()?;
    let report = match reports.len() {
        // A single result keeps its numbers.
        1 => reports.remove(0),
        _ => merge(reports),
    };
    deliver(report, &arguments.reports.printed_as(arguments.format), Some(Stream::Output), console)
}

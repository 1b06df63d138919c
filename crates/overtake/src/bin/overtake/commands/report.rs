//! `overtake report`: stored results, rendered again.

use overtake::reports::stored;
use overtake_report::collect::merge;

use crate::args::StoredArguments;
use crate::console::{Console, Stream};
use crate::delivery::deliver;
use crate::verdict::Outcome;

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

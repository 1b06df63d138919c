//! `overtake report`: a stored result, rendered again.

use overtake::reports::stored;

use crate::args::StoredArguments;
use crate::console::{Console, Stream};
use crate::delivery::deliver;
use crate::verdict::Outcome;

/// Reads a result and delivers it as the analysis did.
pub(crate) fn run(arguments: &StoredArguments, console: Console) -> Outcome {
    let report = stored(&arguments.result)?;
    deliver(report, &arguments.reports.printed_as(arguments.format), Some(Stream::Output), console)
}

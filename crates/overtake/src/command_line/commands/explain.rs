//! `overtake explain`: everything about one race.

use overtake::reports;
use overtake::{Error, Examined, Input};
use overtake_detect::{Registry, Strictness};
use overtake_report::result::Report;
use overtake_report::text::{self, Detail, Layout};

use super::chosen::{chosen, position};
use crate::command_line::args::ExplainArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Finds the race in a result, or in a trace by analysing it, and prints everything about it.
pub(crate) fn run(arguments: &ExplainArguments, registry: Registry, console: Console) -> Outcome {
    let (report, at) = match reports::is_stored(&arguments.input)? {
        true => {
            let report = reports::stored(&arguments.input)?;
            let at = position(&report.findings, &arguments.race)?;
            (report, at)
        }
        false => analysed(arguments, registry, console)?,
    };
    let layout = Layout { detail: Detail::Everything, ..console.layout(0) };
    console.print(&text::one(&report, &report.findings[at], &layout))?;
    Ok(Verdict::Races)
}

/// The report of a trace with the one race explained in full, whatever it costs.
fn analysed(
    arguments: &ExplainArguments,
    registry: Registry,
    console: Console,
) -> Result<(Report, usize), Error> {
    let mut input = Input::new(&arguments.input);
    input.make_rereadable(Strictness::Repair, &console)?;
    let search = arguments.detector.search(&arguments.options, registry);
    let (detectors, options) = (search.suited(&input)?, &search.options);
    let examined = Examined::of(&mut input, &detectors, options, Strictness::Repair, &console)?;
    let analysed = examined.analysed();
    let (collector, named) = chosen(&analysed, &arguments.race)?;
    let mut report = reports::read(collector, &mut input, &examined, None)?;
    for finding in &mut report.findings {
        finding.id = named.id;
        finding.fingerprint.clone_from(&named.fingerprint);
    }
    Ok((report, 0))
}

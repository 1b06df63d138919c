//! `overtake explain`: everything about one race.

use overtake::reports;
use overtake::{Error, Examined, Input};
use overtake_detect::Strictness;
use overtake_report::collect::{Collector, Settings};
use overtake_report::result::{Finding, Report};
use overtake_report::text::{self, Detail, Layout};

use crate::args::ExplainArguments;
use crate::console::Console;
use crate::verdict::{Outcome, Verdict};

/// Finds the race in a result, or in a trace by analysing it, and prints everything about it.
pub(crate) fn run(arguments: &ExplainArguments, console: Console) -> Outcome {
    let (report, at) = match reports::is_stored(&arguments.input)? {
        true => {
            let report = reports::stored(&arguments.input)?;
            let at = position(&report.findings, &arguments.race)?;
            (report, at)
        }
        false => analysed(arguments, console)?,
    };
    let layout = Layout { detail: Detail::Everything, ..console.layout(0) };
    console.print(&text::one(&report, &report.findings[at], &layout))?;
    Ok(Verdict::Races)
}

/// The report of a trace with the one race explained in full, whatever it costs.
fn analysed(arguments: &ExplainArguments, console: Console) -> Result<(Report, usize), Error> {
    let mut input = Input::new(&arguments.input);
    input.make_rereadable(Strictness::Repair, &console)?;
    let options = arguments.options.options();
    let examined = Examined::of(&mut input, &arguments.detector, &options, Strictness::Repair, &console)?;
    let analysed = examined.analysed();
    let settings = Settings { witnesses: 1, witness_events: u64::MAX, ..reports::settings() };
    let named = Collector::new(&analysed, &settings).finish();
    let at = position(&named.findings, &arguments.race)?;
    let mut collector = Collector::new(&analysed, &settings);
    collector.keep_only(at);
    let mut report = reports::read(collector, &mut input, examined.landmarks())?;
    // Numbers and fingerprints are those that it has among all of them.
    for finding in &mut report.findings {
        finding.id = named.findings[at].id;
        finding.fingerprint.clone_from(&named.findings[at].fingerprint);
    }
    Ok((report, 0))
}

/// The race with this number, or whose fingerprint begins like this.
fn position(findings: &[Finding], race: &str) -> Result<usize, Error> {
    let race = race.trim_end_matches('.');
    let numbered = findings.iter().position(|finding| finding.id.to_string() == race);
    let mut alike = findings.iter().enumerate().filter(|(_, finding)| finding.fingerprint.starts_with(race));
    match (numbered, alike.next(), alike.next()) {
        (Some(at), _, _) | (None, Some((at, _)), None) if !race.is_empty() => Ok(at),
        (_, Some(_), Some(_)) => {
            Err(Error::usage(format!("several races have fingerprints that begin with {race}")))
        }
        _ => Err(Error::usage(match findings.len() {
            0 => format!("expected a race, found {race}: there is none"),
            count => {
                format!("expected a number from 1 to {count} or the beginning of a fingerprint, found {race}")
            }
        })),
    }
}

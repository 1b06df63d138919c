//! Races by the numbers and fingerprints that reports give them: the same for every command.

use overtake::{Error, reports};
use overtake_report::Analysed;
use overtake_report::collect::{Collector, Settings};
use overtake_report::result::Finding;

/// The settings with which one race is explained in full, whatever it costs.
fn in_full() -> Settings {
    Settings { witnesses: 1, witness_events: u64::MAX, ..reports::settings() }
}

/// A collector for the one race that is meant, and its finding with the number and the fingerprint that it has among all races of the
/// trace.
pub(crate) fn chosen<'a>(analysed: &'a Analysed<'a>, race: &str) -> Result<(Collector<'a>, Finding), Error> {
    let mut named = Collector::new(analysed, &in_full()).finish().findings;
    let at = position(&named, race)?;
    let mut collector = Collector::new(analysed, &in_full());
    collector.keep_only(at);
    Ok((collector, named.swap_remove(at)))
}

/// The race with this number, or whose fingerprint begins like this.
pub(crate) fn position(findings: &[Finding], race: &str) -> Result<usize, Error> {
    let race = race.trim_end_matches('.');
    let numbered = findings.iter().position(|finding| finding.id.to_string() == race);
    let mut alike = findings.iter().enumerate().filter(|(_, finding)| finding.fingerprint.starts_with(race));
    match (numbered, alike.next(), alike.next()) {
        (Some(at), _, _) | (None, Some((at, _)), None) if !race.is_empty() => Ok(at),
        (_, Some(_), Some(_)) => {
            Err(Error::usage(format!("several races have fingerprints that begin with {race}")))
        }
        _ => Err(Error::usage(match findings.len() {
            0 => format!("there is no race {race}: the report has no races"),
            count => {
                format!("expected a number from 1 to {count} or the beginning of a fingerprint, found {race}")
            }
        })),
    }
}

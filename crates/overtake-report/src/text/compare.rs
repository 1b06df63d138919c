//! All detectors on one trace, one row each.

use super::{Layout, table};
use crate::model::{Analysed, Findings};
use crate::number::{bytes, counted, grouped, rate, seconds};

const HEADING: [&str; 10] = [
    "detector",
    "racy events",
    "variables",
    "locations",
    "pairs",
    "distance",
    "time",
    "events/s",
    "peak state",
    "promise",
];

/// The table, then one line about the trace.
pub fn compare(analysed: &Analysed<'_>, layout: &Layout) -> String {
    let mut table = table::new(&HEADING, 1..9, layout);
    for findings in &analysed.findings {
        table.add_row(row(findings));
    }
    let trace = analysed.trace;
    let sizes = trace.sizes;
    let mut text = table::lines(&table);
    text.push_str(&format!(
        "\n{}, {}, {}, {}; read and analysed in {}\n",
        counted(trace.events, "event", "events"),
        counted(sizes.threads as u64, "thread", "threads"),
        counted(sizes.locks as u64, "lock", "locks"),
        counted(sizes.variables as u64, "variable", "variables"),
        seconds(analysed.time)
    ));
    text
}

fn row(findings: &Findings<'_>) -> Vec<String> {
    let races = findings.races;
    vec![
        findings.detector.name.to_owned(),
        grouped(races.racy_events().len() as u64),
        grouped(races.racy_variables().len() as u64),
        grouped(races.racy_locations().len() as u64),
        grouped(races.groups().len() as u64),
        grouped(races.max_distance()),
        seconds(findings.time),
        rate(findings.events_per_second()),
        bytes(findings.peak_state_bytes as u64),
        format!("{}; {}", findings.detector.verdict.word(), findings.detector.promise.describe()),
    ]
}

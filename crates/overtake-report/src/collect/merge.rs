//! The findings of several processes as one report.

use std::collections::BTreeMap;

use crate::cause;
use crate::result::{Excerpt, Finding, RESULT_SCHEMA, Report};

/// One report of several: findings with one fingerprint are one, shown as the surest of them.
pub fn merge(reports: Vec<Report>) -> Report {
    let mut reports = reports.into_iter();
    let mut merged = reports.next().unwrap_or_else(empty);
    for report in reports {
        let offset = merged.runs.len() as u32;
        merged.runs.extend(report.runs);
        for (path, excerpt) in report.sources {
            add_lines(merged.sources.entry(path).or_default(), excerpt);
        }
        let mut known: BTreeMap<String, usize> = BTreeMap::new();
        for (at, finding) in merged.findings.iter().enumerate() {
            known.insert(finding.fingerprint.clone(), at);
        }
        for mut finding in report.findings {
            finding.runs.iter_mut().for_each(|run| *run += offset);
            match known.get(&finding.fingerprint) {
                Some(&at) => unite(&mut merged.findings[at], finding),
                None => merged.findings.push(finding),
            }
        }
    }
    // Among equals the order stays: that of the processes, then that of their reports.
    cause::arrange(&mut merged.findings);
    merged
}

/// Adds lines that are not known yet: another part of a long line would need another column.
fn add_lines(known: &mut Excerpt, other: Excerpt) {
    for (number, line) in other.lines {
        if let std::collections::btree_map::Entry::Vacant(place) = known.lines.entry(number) {
            place.insert(line);
            known.cut.extend(other.cut.get(&number).map(|&cut| (number, cut)));
        }
    }
}

fn unite(known: &mut Finding, other: Finding) {
    let count = known.count + other.count;
    let observed = known.observed + other.observed;
    let mut detectors = std::mem::take(&mut known.detectors);
    detectors
        .extend(other.detectors.iter().filter(|name| !detectors.contains(name)).cloned().collect::<Vec<_>>());
    let mut runs = std::mem::take(&mut known.runs);
    runs.extend(&other.runs);
    let confirmed = known.confirmed.take().or_else(|| other.confirmed.clone());
    if other.verdict < known.verdict {
        *known = other;
        // The example's run is named first.
        runs.rotate_right(known.runs.len());
    }
    *known = Finding { count, observed, detectors, runs, confirmed, ..known.clone() };
}

fn empty() -> Report {
    Report {
        schema: RESULT_SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        runs: Vec::new(),
        findings: Vec::new(),
        sources: BTreeMap::new(),
        triage: Default::default(),
    }
}

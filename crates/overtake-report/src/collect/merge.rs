//! The findings of several processes as one report.

use std::collections::BTreeMap;

use crate::result::{Finding, RESULT_SCHEMA, Report};

/// One report of several: findings with one fingerprint are one, told as the surest of them.
pub fn merge(reports: Vec<Report>) -> Report {
    let mut reports = reports.into_iter();
    let mut merged = reports.next().unwrap_or_else(empty);
    for report in reports {
        let offset = merged.runs.len() as u32;
        merged.runs.extend(report.runs);
        for (path, excerpt) in report.sources {
            merged.sources.entry(path).or_default().lines.extend(excerpt.lines);
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
    // Within a verdict the order stays: that of the processes, then that of their reports.
    merged.findings.sort_by_key(|finding| finding.verdict);
    for (finding, id) in merged.findings.iter_mut().zip(1..) {
        finding.id = id;
    }
    merged
}

fn unite(known: &mut Finding, other: Finding) {
    let count = known.count + other.count;
    let observed = known.observed + other.observed;
    let mut detectors = std::mem::take(&mut known.detectors);
    detectors
        .extend(other.detectors.iter().filter(|name| !detectors.contains(name)).cloned().collect::<Vec<_>>());
    let mut runs = std::mem::take(&mut known.runs);
    runs.extend(&other.runs);
    if other.verdict < known.verdict {
        *known = other;
        // The example's run is named first.
        runs.rotate_right(known.runs.len());
    }
    *known = Finding { count, observed, detectors, runs, ..known.clone() };
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

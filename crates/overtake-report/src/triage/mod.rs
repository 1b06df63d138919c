//! What people already know about races: suppressions and baselines.
//!
//! A [`Suppressions`] file names races that nobody wants reported, by pattern; it uses the grammar people know from
//! ThreadSanitizer and adds rules that are narrower (`docs/suppressions.md`). A [`Baseline`] lists races one by one, by
//! fingerprint, so that a team can start with the races it has and fail on new ones only.
//!
//! [`apply`] gives every finding its [`Status`]. Findings stay in the report whatever their status: renderers decide what to
//! show, and exit codes follow [`Report::new_findings`].

mod baseline;
mod date;
mod names;
mod options;
mod parse;
mod suppression;
mod template;

pub use self::baseline::{Baseline, BaselineError, KnownRace, Merged};
pub use self::date::{date_of, today};
pub use self::options::{SanitizerOptions, sanitizer_options};
pub use self::parse::SuppressionError;
pub use self::suppression::Suppressions;

use crate::result::{Report, Status};

/// Judges every finding anew by what is given; what other files said before stays.
///
/// A suppression overrides the baseline: a suppressed finding is neither known nor fixed. `baseline` comes with the name of its
/// file.
pub fn apply(report: &mut Report, suppressions: Option<&Suppressions>, baseline: Option<(&str, &Baseline)>) {
    for finding in &mut report.findings {
        let anew = match finding.status {
            Status::New => false,
            Status::Known { .. } => baseline.is_some(),
            Status::Suppressed { .. } => suppressions.is_some(),
        };
        if anew {
            finding.status = Status::New;
        }
    }
    if let Some(suppressions) = suppressions {
        report.triage.unused_suppressions = suppressions.apply(&mut report.findings);
    }
    if let Some((name, baseline)) = baseline {
        report.triage.baseline = name.to_owned();
        report.triage.fixed = baseline.apply(&mut report.findings);
    }
}

/// What triage did, a line each; empty if it had nothing to do. `verbose` lists every suppression that matched.
pub fn summary(report: &Report, verbose: bool) -> String {
    let mut suppressed: Vec<(&str, u64)> = Vec::new();
    let mut known = 0_u64;
    for finding in &report.findings {
        match &finding.status {
            Status::New => {}
            Status::Known { .. } => known += 1,
            Status::Suppressed { by } => match suppressed.iter_mut().find(|(rule, _)| rule == by) {
                Some((_, count)) => *count += 1,
                None => suppressed.push((by, 1)),
            },
        }
    }
    let mut lines = String::new();
    let hidden: u64 = suppressed.iter().map(|(_, count)| count).sum();
    if hidden > 0 {
        lines += &format!(
            "{} suppressed by {}\n",
            plural(hidden, report.word()),
            plural(suppressed.len() as u64, "rule")
        );
    }
    if verbose {
        for (rule, count) in suppressed {
            lines += &format!("  {count} by {rule}\n");
        }
    }
    let triage = &report.triage;
    if !triage.baseline.is_empty() {
        let new = report.new_findings().count() as u64;
        lines += &format!("{} known to {}, {new} new", plural(known, report.word()), triage.baseline);
        lines += &format!(", {} not found again\n", triage.fixed.len());
    }
    for finding in report.findings.iter().filter(|finding| finding.is_confirmed_since()) {
        lines +=
            &format!("  confirmed since it was accepted: {} [{}]\n", finding.headline, finding.fingerprint);
    }
    for fixed in &triage.fixed {
        lines += &format!("  not found again: {} [{}]\n", fixed.headline, fixed.fingerprint);
    }
    for unused in &triage.unused_suppressions {
        lines += &format!("unused suppression: {unused}\n");
    }
    lines
}

fn plural(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

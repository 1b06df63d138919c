//! A summary of all findings: one row each, and the sums.

use overtake_detect::Verdict;

use super::super::{BOLD, Layout, printable, table, verdict_style};
use crate::function_name::abridged;
use crate::number::{counted, grouped};
use crate::result::{Access, Finding, Kind, Report, Run, Status};

/// Longer cells lose their middle.
const MOST_LETTERS: usize = 40;

/// One row for each finding that is shown.
pub(super) fn rows(findings: &[&Finding], layout: &Layout) -> String {
    let judged = findings.iter().any(|finding| finding.status != Status::New);
    let heading = ["", "verdict", "memory", "first", "second", "fingerprint", "triage"];
    let mut table = table::new(&heading[..heading.len() - usize::from(!judged)], 0..1, layout);
    for finding in findings {
        let mut row = vec![
            finding.id.to_string(),
            finding.standing().to_owned(),
            cell(&finding.subject()),
            cell(&finding.accesses.first().map(side).unwrap_or_default()),
            cell(&finding.accesses.get(1).map(side).unwrap_or_default()),
            finding.fingerprint.chars().take(8).collect(),
        ];
        if judged {
            row.push(status(&finding.status).to_owned());
        }
        table.add_row(row);
    }
    table::lines(&table)
}

fn cell(text: &str) -> String {
    abridged(&printable(text), MOST_LETTERS)
}

/// Both accesses of a finding, or all of them, on one line.
pub(super) fn sides(finding: &Finding) -> String {
    finding.accesses.iter().map(side).collect::<Vec<_>>().join(", ")
}

fn side(access: &Access) -> String {
    let place = access.site().map(|frame| frame.place()).filter(|place| !place.is_empty());
    let place = place.unwrap_or_else(|| access.thread.name.clone());
    format!("{} {}", access.operation, place.rsplit('/').next().unwrap_or(&place))
}

fn status(status: &Status) -> &'static str {
    match status {
        Status::New => "new",
        Status::Known { .. } => "known",
        Status::Suppressed { .. } => "suppressed",
    }
}

/// One line that sums them up.
pub(super) fn total(report: &Report) -> String {
    let mut parts = Vec::new();
    let kinds = [Kind::Race, Kind::Deadlock, Kind::Misuse];
    for (verdict, kind) in Verdict::ALL.into_iter().flat_map(|verdict| kinds.map(|kind| (verdict, kind))) {
        let alike = |finding: &&Finding| finding.verdict == verdict && finding.kind == kind;
        let number = report.new_findings().filter(alike).count();
        let confirmed =
            report.new_findings().filter(alike).filter(|finding| finding.confirmed.is_some()).count();
        if number > 0 {
            let singular = format!("{} {}", verdict.word(), kind.word());
            let style = verdict_style(verdict);
            let confirmed = match confirmed {
                0 => String::new(),
                _ if confirmed == number => " (confirmed)".to_owned(),
                _ => format!(" ({} confirmed)", grouped(confirmed as u64)),
            };
            parts.push(format!(
                "{style}{}{style:#}{confirmed}",
                counted(number as u64, &singular, &format!("{singular}s"))
            ));
        }
    }
    let accepted = report.findings.len() - report.new_findings().count();
    match parts.is_empty() {
        true if accepted > 0 => {
            let where_ = printable(&examined(&report.runs));
            format!("no new {} in {where_}, {accepted} accepted", report.word())
        }
        true => nothing(report),
        false if accepted > 0 => {
            let where_ = printable(&examined(&report.runs));
            format!("{} {BOLD}in {where_}{BOLD:#}, {accepted} more accepted", parts.join(", "))
        }
        false => format!("{} {BOLD}in {}{BOLD:#}", parts.join(", "), printable(&examined(&report.runs))),
    }
}

fn nothing(report: &Report) -> String {
    let detectors = || report.runs.iter().flat_map(|run| &run.detectors);
    let looked_at = match detectors().all(|detector| detector.sampled) && !report.runs.is_empty() {
        true => "no race found in a sample of",
        false => "no race in",
    };
    let names = distinct(detectors().map(|detector| detector.name.as_str()));
    format!("{looked_at} {} ({})", examined(&report.runs), names.join(", "))
}

/// What was examined: the program, or so many events of a trace.
fn examined(runs: &[Run]) -> String {
    let programs = distinct(runs.iter().filter_map(|run| run.command.first()).map(|path| base_name(path)));
    let events: u64 = runs.iter().map(|run| run.events).sum();
    let events = counted(events, "event", "events");
    match (&*programs, runs) {
        ([], [] | [_]) => events,
        ([], _) => format!("{events} of {}", counted(runs.len() as u64, "trace", "traces")),
        (_, [_]) => programs.join(", "),
        _ => format!("{} ({})", programs.join(", "), counted(runs.len() as u64, "process", "processes")),
    }
}

/// Each name once, in the order of first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    names.fold(Vec::new(), |mut distinct, name| {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
        distinct
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

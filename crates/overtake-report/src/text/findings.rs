//! Findings, one after another, and what they amount to.

use std::fmt::Write as _;
use std::io::{self, Write};

use overtake_detect::Verdict;

use super::{BOLD, DIM, Layout, printable, verdict_style};
use crate::number::counted;
use crate::result::{Access, Finding, Frame, Report};

/// The report as plain text: nothing hidden, no colours.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let text = findings(report, &Layout { width: None, limit: None });
    write!(out, "{}", anstream::adapter::strip_str(&text))
}

/// The findings, and one line that sums them up.
pub fn findings(report: &Report, layout: &Layout) -> String {
    let mut text = String::new();
    let shown = layout.limit.unwrap_or(usize::MAX).min(report.findings.len());
    for finding in &report.findings[..shown] {
        one(&mut text, finding);
    }
    if shown < report.findings.len() {
        let hidden = counted((report.findings.len() - shown) as u64, "race", "races");
        line(&mut text, 0, format_args!("... and {hidden} more; --limit 0 shows all\n"));
    }
    summary(&mut text, report);
    text
}

fn one(text: &mut String, finding: &Finding) {
    let style = verdict_style(finding.verdict);
    let (id, word, headline) = (finding.id, finding.verdict.word(), printable(&finding.headline));
    line(text, 0, format_args!("{id}. {style}{word} race{style:#} on {BOLD}{headline}{BOLD:#}"));
    line(text, 2, format_args!("{DIM}{}{DIM:#}", meaning(finding.verdict)));
    for access in [&finding.first, &finding.second] {
        side(text, access);
    }
    text.push('\n');
}

fn side(text: &mut String, access: &Access) {
    let thread = printable(&access.thread.name);
    let size = match access.bytes {
        0 => String::new(),
        bytes => format!(" of {}", counted(u64::from(bytes), "byte", "bytes")),
    };
    line(text, 2, format_args!("{BOLD}{}{BOLD:#}{size} by {thread}", access.operation));
    for (number, frame) in access.stack.iter().enumerate() {
        line(text, 4, format_args!("#{number} {}", describe(frame)));
    }
    if access.stack.is_empty() {
        line(text, 4, format_args!("at an unknown location"));
    }
}

fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Observed => "nothing orders the two accesses in this run",
        Verdict::Predicted => "another schedule of this very run brings the two accesses side by side",
        Verdict::Suspected => "no lock protects both accesses; something else may order them",
    }
}

fn summary(text: &mut String, report: &Report) {
    let mut parts = Vec::new();
    for verdict in [Verdict::Observed, Verdict::Predicted, Verdict::Suspected] {
        let number = report.findings.iter().filter(|finding| finding.verdict == verdict).count();
        if number > 0 {
            let singular = format!("{} race", verdict.word());
            parts.push(counted(number as u64, &singular, &format!("{singular}s")));
        }
    }
    let events: u64 = report.runs.iter().map(|run| run.events).sum();
    let sampled = report.runs.iter().flat_map(|run| &run.detectors).all(|detector| detector.sampled);
    let looked_at = if sampled { "no race found in a sample of" } else { "no race in" };
    match parts.is_empty() {
        true => line(text, 0, format_args!("{looked_at} {}", counted(events, "event", "events"))),
        false => line(text, 0, format_args!("{BOLD}{}{BOLD:#}", parts.join(", "))),
    }
    for remark in report.runs.iter().flat_map(|run| &run.detectors).flat_map(|detector| &detector.remarks) {
        line(text, 2, format_args!("{}", printable(remark)));
    }
}

/// `function file.c:12:3`, or where in which module.
fn describe(frame: &Frame) -> String {
    let function = if frame.function.is_empty() { String::new() } else { format!("{} ", frame.function) };
    let place = match (frame.file.as_str(), frame.line, frame.column) {
        ("", _, _) => format!("({}+{:#x})", frame.module, frame.offset),
        (file, 0, _) => file.to_owned(),
        (file, line, 0) => format!("{file}:{line}"),
        (file, line, column) => format!("{file}:{line}:{column}"),
    };
    printable(&format!("{function}{place}"))
}

fn line(text: &mut String, indent: usize, line: std::fmt::Arguments<'_>) {
    // Writing into a string does not fail.
    let _ = writeln!(text, "{:indent$}{line}", "");
}

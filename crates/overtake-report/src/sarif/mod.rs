//! SARIF 2.1.0, for code scanning and editors.
//!
//! One run, one result for each finding. What consumers make of it:
//! - `ruleId` says how sure it is; `partialFingerprints` carry the finding's fingerprint, also under the name that GitHub looks
//!   for, so that an alert stays the same alert when lines move.
//! - The location is the same whichever access came first in the run: the write, then the one whose place sorts first.
//! - `codeFlows` have one thread flow for each thread; `executionOrder` numbers the steps in the order that exhibits the race. A
//!   race that a recorded program exhibited has none.
//! - `baselineState` is there if a baseline was given. Races that were not found again are named in a notification: GitHub would
//!   show a result for them as an open alert.
//!
//! Results of a recorded program have no counts and no numbers of events, and two threads that do the same are listed in the order of
//! their numbers: same findings, same bytes, whatever the timing.
//!
//! **Limits.** GitHub rejects files past its limits, and shows the most severe 5,000 results of the 25,000 it takes. We keep
//! to `Limits::CODE_SCANNING` and say in a notification what was left out.

mod finding;
mod flow;
mod place;
mod rules;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use serde::Serialize;
use serde_json::{Value, json};

use self::finding::ResultForm;
use crate::result::{Finding, Report, Run, Status};

/// How much of everything there may be.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// Results of a run.
    results: usize,
    /// Results that are shown.
    shown_results: usize,
    /// Related locations of a result.
    related: usize,
    /// Locations of all thread flows of a result.
    flow: usize,
    /// Frames of a stack.
    frames: usize,
    /// Bytes of the file from which on results have neither stacks nor flows.
    detailed_bytes: u64,
    /// Bytes of the file from which on there are no more results.
    bytes: u64,
}

impl Limits {
    /// Those of GitHub: it takes 10 MB after compression, which shrinks our files to less than a tenth (measured: a twentieth).
    const CODE_SCANNING: Limits = Limits {
        results: 25_000,
        shown_results: 5_000,
        related: 100,
        flow: 1_000,
        frames: 256,
        detailed_bytes: 64_000_000,
        bytes: 90_000_000,
    };
}

/// Writes the report, one result on each line.
pub fn write(out: &mut dyn io::Write, report: &Report) -> io::Result<()> {
    write_within(&Limits::CODE_SCANNING, out, report)
}

fn write_within(limits: &Limits, out: &mut dyn io::Write, report: &Report) -> io::Result<()> {
    let mut notes = notes_of(report);
    writeln!(out, "{{\"$schema\":{},\"version\":\"2.1.0\",\"runs\":[{{", json!(SCHEMA))?;
    writeln!(out, "\"tool\":{},", rules::tool(&report.version))?;
    writeln!(out, "\"originalUriBaseIds\":{},", place::bases())?;
    out.write_all(b"\"columnKind\":\"utf16CodeUnits\",\n\"results\":[")?;
    let written = write_results(limits, out, report, &mut notes)?;
    out.write_all(b"\n],\n")?;
    if written > limits.shown_results {
        let shown = limits.shown_results;
        notes.push(Note::new("note", format!("code scanning shows {shown} of these {written} findings")));
    }
    let runs: Vec<_> = report.runs.iter().map(properties_of).collect();
    let notifications: Vec<_> = notes.iter().map(Note::form).collect();
    let invocation = json!({"executionSuccessful": true, "toolExecutionNotifications": notifications});
    writeln!(out, "\"invocations\":[{invocation}],")?;
    writeln!(out, "\"properties\":{}}}]}}", json!({"runs": runs}))
}

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Writes as many results as the limits allow, and returns how many it wrote.
fn write_results(
    limits: &Limits,
    out: &mut dyn io::Write,
    report: &Report,
    notes: &mut Vec<Note>,
) -> io::Result<usize> {
    let mut occurrences: BTreeMap<&str, u32> = BTreeMap::new();
    let (mut bytes, mut written, mut shortened) = (0_u64, 0, 0);
    let mut line = Vec::new();
    for finding in chosen(&report.findings, limits.results) {
        let occurrence = occurrences.entry(&finding.fingerprint).or_default();
        *occurrence += 1;
        let finding = finding.settled();
        let mut result = ResultForm::of(&finding, report, *occurrence, limits);
        if bytes > limits.detailed_bytes {
            result.leave_out_details();
            shortened += 1;
        }
        line.clear();
        line.extend_from_slice(if written == 0 { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut line, &result)?;
        bytes += line.len() as u64;
        if bytes > limits.bytes {
            break;
        }
        out.write_all(&line)?;
        written += 1;
    }
    if shortened > 0 {
        notes.push(Note::new(
            "warning",
            format!("{shortened} findings have no stacks and no schedule: the file is full"),
        ));
    }
    let left_out = report.findings.len() - written;
    if left_out > 0 {
        notes.push(Note::new("warning", format!("{left_out} findings were left out: the file is full")));
    }
    Ok(written)
}

/// The findings to write, in the report's order. If there are too many, those that nobody has judged are preferred.
fn chosen(findings: &[Finding], limit: usize) -> Vec<&Finding> {
    let mut chosen: Vec<_> = findings.iter().enumerate().collect();
    if chosen.len() > limit {
        chosen.sort_by_key(|(_, finding)| match finding.status {
            Status::New => 0,
            Status::Known { .. } => 1,
            Status::Suppressed { .. } => 2,
        });
        chosen.truncate(limit);
        chosen.sort_by_key(|(position, _)| *position);
    }
    chosen.into_iter().map(|(_, finding)| finding).collect()
}

/// What was examined, without what another run of the same program numbers otherwise.
fn properties_of(run: &Run) -> Value {
    let detectors: Vec<_> = run.detectors.iter().map(|found| json!([found.name, found.promise])).collect();
    let mut properties = json!({"format": run.format, "command": run.command, "detectors": detectors});
    if !run.is_recorded() {
        properties["trace"] = run.trace.as_str().into();
        properties["events"] = run.events.into();
    }
    properties
}

/// Something to know about the run.
struct Note {
    level: &'static str,
    text: String,
}

impl Note {
    fn new(level: &'static str, text: String) -> Note {
        Note { level, text }
    }

    fn form(&self) -> Value {
        json!({"level": self.level, "message": {"text": self.text}})
    }
}

fn notes_of(report: &Report) -> Vec<Note> {
    let mut notes = Vec::new();
    for run in &report.runs {
        notes.extend(run.notes.iter().map(|note| Note::new("warning", format!("{}: {note}", run.trace))));
        let remarks = run.detectors.iter().flat_map(|detector| {
            detector.remarks.iter().map(move |remark| format!("{}: {}: {remark}", run.trace, detector.name))
        });
        notes.extend(remarks.map(|remark| Note::new("note", remark)));
    }
    let triage = &report.triage;
    notes.extend(triage.fixed.iter().map(|fixed| {
        Note::new("note", format!("not found again: {} [{}]", fixed.headline, fixed.fingerprint))
    }));
    let unused = triage.unused_suppressions.iter();
    notes.extend(unused.map(|rule| Note::new("note", format!("unused suppression: {rule}"))));
    notes
}

/// A text in SARIF's form.
#[derive(Clone, Serialize)]
struct Message<'a> {
    text: Cow<'a, str>,
}

impl<'a> Message<'a> {
    fn new(text: impl Into<Cow<'a, str>>) -> Message<'a> {
        Message { text: text.into() }
    }
}

#[cfg(test)]
mod tests;

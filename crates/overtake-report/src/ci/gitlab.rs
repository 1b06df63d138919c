//! GitLab's code quality report: JSON that merge requests show beside the lines.

use std::io::{self, Write};

use overtake_detect::Verdict;
use serde_json::{Value, json};

use super::place_of;
use crate::cause::causes;
use crate::result::{Finding, Report};

/// Writes the new findings, one for each cause.
pub fn write(out: &mut dyn Write, report: &Report) -> io::Result<()> {
    let issues: Vec<Value> = causes(report.new_findings()).iter().map(|cause| issue(cause.head)).collect();
    serde_json::to_writer_pretty(&mut *out, &issues)?;
    out.write_all(b"\n")
}

fn issue(finding: &Finding) -> Value {
    let (path, line) = match place_of(finding) {
        Some(frame) => (frame.file.as_str(), frame.line),
        // GitLab drops issues without a place.
        None => ("unknown", 1),
    };
    let confirmation = finding.confirmation().map(|said| format!(" ({said})")).unwrap_or_default();
    json!({
        "description": format!("{}{confirmation}", finding.sentence()),
        "check_name": finding.rule,
        "fingerprint": finding.fingerprint,
        "severity": severity(finding),
        "location": { "path": path, "lines": { "begin": line } },
    })
}

fn severity(finding: &Finding) -> &'static str {
    match finding.verdict {
        _ if finding.confirmed.is_some() => "blocker",
        Verdict::Observed | Verdict::Predicted => "critical",
        Verdict::Possible => "major",
        Verdict::Suspected => "minor",
    }
}

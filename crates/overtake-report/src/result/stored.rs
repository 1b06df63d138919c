//! Results in files.
//!
//! Version 2 brought findings that are not races: what was `first` and `second` became the list `accesses`, and the role of a step
//! became a position in it. Results of version 1 are read as if they had been stored that way.

use std::io;

use overtake_detect::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Finding, Kind, RESULT_SCHEMA, Report, Status};

impl Report {
    /// Reads a stored result.
    pub fn read(from: impl io::Read) -> io::Result<Report> {
        let mut value: Value = serde_json::from_reader(io::BufReader::new(from))?;
        match value.get("schema").and_then(Value::as_u64) {
            Some(1) => upgrade(&mut value),
            Some(schema) if schema == u64::from(RESULT_SCHEMA) => {}
            Some(schema) => {
                return Err(invalid(format!(
                    "expected a result of version {RESULT_SCHEMA} or 1, found {schema}"
                )));
            }
            None => return Err(invalid("expected a result, found no field `schema`".into())),
        }
        let report: Report = serde_json::from_value(value)?;
        for finding in &report.findings {
            let expected = if finding.kind == Kind::Race { 2 } else { 1 };
            let found = finding.accesses.len();
            if found < expected || finding.kind == Kind::Race && found > expected {
                let (id, kind) = (finding.id, finding.kind.word());
                return Err(invalid(format!("finding {id}: a {kind} with {found} accesses")));
            }
        }
        Ok(report)
    }

    /// Writes it as `--report result=FILE` stores it.
    pub fn write(&self, to: &mut dyn io::Write) -> io::Result<()> {
        serde_json::to_writer(&mut *to, self)?;
        to.write_all(b"\n")
    }

    /// The findings that nobody has accepted: those that fail a run.
    pub fn new_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status == Status::New)
    }

    /// What its findings are called together.
    pub(crate) fn word(&self) -> &'static str {
        match self.findings.iter().all(|finding| finding.kind == Kind::Race) {
            true => "race",
            false => "finding",
        }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Verdict", rename_all = "lowercase")]
pub(crate) enum VerdictForm {
    Observed,
    Predicted,
    Possible,
    Suspected,
}

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Turns a result of version 1 into one of version 2. Fields of a wrong form stay as they are: the reader of version 2 refuses them.
fn upgrade(report: &mut Value) {
    report["schema"] = RESULT_SCHEMA.into();
    let findings = report.get_mut("findings").and_then(Value::as_array_mut);
    for finding in findings.into_iter().flatten().filter_map(Value::as_object_mut) {
        let accesses: Vec<Value> =
            ["first", "second"].iter().filter_map(|side| finding.remove(*side)).collect();
        let frees = accesses.iter().any(|access| access.get("operation").is_some_and(|word| word == "free"));
        finding.insert("accesses".into(), accesses.into());
        finding.insert("kind".into(), Kind::Race.word().into());
        finding.insert("rule".into(), if frees { "use-after-free" } else { "data-race" }.into());
        let steps = finding.get_mut("schedule").and_then(|schedule| schedule.get_mut("steps"));
        for step in steps.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
        {
            match step.get("role").and_then(Value::as_str) {
                Some("first") => drop(step.insert("role".into(), 0.into())),
                Some("second") => drop(step.insert("role".into(), 1.into())),
                _ => {}
            }
        }
    }
}

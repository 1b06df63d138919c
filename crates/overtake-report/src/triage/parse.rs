//! Suppression files.
//!
//! ```text
//! file    = { line }
//! line    = blank | "#" anything | rule
//! rule    = known ":" pattern
//!         | "race_pair:" sequence " <> " sequence
//!         | "race_stack:" sequence
//!         | "race_var:" pattern
//! known   = "race" | "race_top" | "called_from_lib" | "mutex" | "thread" | "signal" | "deadlock"
//! sequence = element { " <- " element }
//! element = pattern | "..."
//! ```

use std::fmt;

use super::suppression::{Rule, Sequence, Suppression};
use super::template::Template;

/// Why a suppression file cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SuppressionError {
    file: String,
    line: u32,
    column: u32,
    message: String,
}

impl fmt::Display for SuppressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file, self.line, self.column, self.message)
    }
}

impl std::error::Error for SuppressionError {}

/// A message and the byte of the line that it is about.
type Complaint = (usize, String);

/// Reads all rules of a file.
pub(super) fn rules(file: &str, text: &str) -> Result<Vec<Suppression>, SuppressionError> {
    let mut rules = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let indent = line.len() - line.trim_start().len();
        let written = line.trim();
        if written.is_empty() || written.starts_with('#') {
            continue;
        }
        let rule = rule(written).map_err(|(offset, message)| SuppressionError {
            file: file.to_owned(),
            line: number,
            column: 1 + line[..indent + offset].chars().count() as u32,
            message,
        })?;
        rules.push(Suppression { rule, origin: format!("{written} ({file}:{number})") });
    }
    Ok(rules)
}

const TYPES: &str =
    "race, race_top, race_pair, race_stack, race_var, called_from_lib, mutex, thread, signal or deadlock";

fn rule(written: &str) -> Result<Rule, Complaint> {
    let Some((kind, operand)) = written.split_once(':') else {
        return Err((0, format!("expected `type:pattern`, found `{}`", shortened(written))));
    };
    let start = kind.len() + 1;
    let pattern = || pattern(operand, start);
    Ok(match kind {
        "race" => Rule::Race(pattern()?),
        "race_top" => Rule::Top(pattern()?),
        "called_from_lib" => Rule::Library(library(operand, start)?),
        "race_var" => Rule::Variable(pattern()?),
        "race_stack" => Rule::Stack(sequence(operand, start)?),
        "race_pair" => {
            let Some((one, other)) = operand.split_once(" <> ") else {
                return Err((start, "expected two patterns with ` <> ` between them".into()));
            };
            let second = start + one.len() + 4;
            if let Some(third) = other.find(" <> ") {
                return Err((second + third, "expected two patterns, found a third one".into()));
            }
            Rule::Pair([sequence(one, start)?, sequence(other, second)?])
        }
        "mutex" => Rule::Other("mutex", pattern()?),
        "thread" => Rule::Other("thread", pattern()?),
        "signal" => Rule::Other("signal", pattern()?),
        "deadlock" => Rule::Other("deadlock", pattern()?),
        _ => return Err((0, format!("expected {TYPES}, found `{}`", shortened(kind)))),
    })
}

fn pattern(written: &str, start: usize) -> Result<Template, Complaint> {
    match written.trim() {
        "" => Err((start, "expected a pattern, found nothing; `*` matches everything".into())),
        pattern => Ok(Template::new(pattern)),
    }
}

/// A pattern for the path of a module. Only the last part of the path is known, so that only the last part of the pattern counts.
fn library(written: &str, start: usize) -> Result<Template, Complaint> {
    match written.trim().rsplit_once('/') {
        Some((_, name)) if !name.is_empty() => pattern(&format!("^{name}"), start),
        _ => pattern(written, start),
    }
}

fn sequence(written: &str, start: usize) -> Result<Sequence, Complaint> {
    let mut segments = vec![Vec::new()];
    let mut offset = start;
    for element in written.split(" <- ") {
        match element.trim() {
            "..." => segments.push(Vec::new()),
            _ => segments.last_mut().expect("there is always one").push(pattern(element, offset)?),
        }
        offset += element.len() + 4;
    }
    segments.retain(|segment| !segment.is_empty());
    if segments.is_empty() {
        return Err((start, "expected a pattern beside `...`".into()));
    }
    Ok(Sequence { segments })
}

/// The beginning of a text, long enough to recognise it.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

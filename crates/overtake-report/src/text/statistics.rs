//! What a trace is made of.

use std::fmt::Write;

use overtake_trace::{CriticalSection, Op, Symbols, TraceSummary};

use super::{BOLD, printable};
use crate::model::StatisticsFacts;
use crate::number::{bytes, counted, grouped};

/// Parameters, sharing, operations, and what happened to the input on its way.
pub fn statistics(facts: &StatisticsFacts<'_>) -> String {
    let StatisticsFacts { trace, summary, symbols, bytes: size } = facts;
    let mut text = String::new();
    let size = size.map(|size| format!(", {}", size_of(size, trace.events))).unwrap_or_default();
    line(&mut text, format_args!("{BOLD}{}{BOLD:#}: {}{size}\n", printable(&trace.file), trace.format));
    parameters(&mut text, summary);
    if let Some(section) = &summary.longest_section {
        row(&mut text, "longest section", &section_of(section, symbols));
    }
    if summary.held_at_end > 0 {
        row(&mut text, "held at the end", &grouped(summary.held_at_end));
    }
    text.push('\n');
    operations(&mut text, summary);
    let notes = super::notes(trace);
    if !notes.is_empty() {
        line(&mut text, format_args!("\n{}", notes.trim_end()));
    }
    text
}

fn parameters(text: &mut String, summary: &TraceSummary) {
    let parameters = &summary.parameters;
    let (variables, locks) = (&summary.variables, &summary.locks);
    row(text, "events N", &grouped(parameters.events));
    row(text, "threads T", &grouped(parameters.threads));
    let uses = [(locks.shared, "shared"), (locks.private, "private"), (locks.unused, "not acquired")];
    row(text, "locks L", &with_uses(parameters.locks, &uses));
    let uses = [
        (variables.shared, "shared"),
        (variables.read_only, "shared but not written"),
        (variables.private, "private"),
        (variables.unused, "not accessed"),
    ];
    row(text, "variables V", &with_uses(parameters.variables, &uses));
    for (count, name) in
        [(summary.arrays, "arrays"), (summary.blocks, "heap blocks"), (summary.objects, "objects")]
    {
        if count > 0 {
            row(text, name, &grouped(count));
        }
    }
    row(text, "locations", &grouped(summary.locations));
    row(text, "acquires A", &grouped(parameters.acquires));
    row(text, "most held h", &grouped(parameters.most_held));
    row(text, "m = 4T + 2h", &grouped(parameters.m()));
}

fn operations(text: &mut String, summary: &TraceSummary) {
    let total = summary.operations.iter().sum::<u64>().max(1);
    for op in Op::ALL {
        let count = summary.count(op);
        if count > 0 {
            let share = 100.0 * count as f64 / total as f64;
            line(text, format_args!("{:24}  {:>15}  {share:5.1} %", op.describe(), grouped(count)));
        }
    }
}

fn section_of(section: &CriticalSection, symbols: &Symbols) -> String {
    format!(
        "{} of {} inside {}, from event {} to {}",
        counted(section.length, "event", "events"),
        printable(&symbols.threads.display(section.thread)),
        printable(&symbols.locks.display(section.lock)),
        grouped(section.acquire.0),
        grouped(section.release.0)
    )
}

/// A number and what it is made of: `32: 30 shared, 2 private`.
fn with_uses(total: u64, uses: &[(u64, &str)]) -> String {
    let uses: Vec<_> = uses
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{} {word}", grouped(*count)))
        .collect();
    if uses.is_empty() { grouped(total) } else { format!("{}: {}", grouped(total), uses.join(", ")) }
}

fn size_of(size: u64, events: u64) -> String {
    match events {
        0 => bytes(size),
        _ => format!("{}, {:.2} bytes an event", bytes(size), size as f64 / events as f64),
    }
}

fn row(text: &mut String, name: &str, value: &str) {
    line(text, format_args!("{name:24}  {value}"));
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a string does not fail.
    let _ = writeln!(text, "{line}");
}

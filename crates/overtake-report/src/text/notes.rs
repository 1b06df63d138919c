//! What happened to the input on its way: repairs, ignored lines, missing parts.

use std::time::Duration;

use super::{Layout, printable, table};
use crate::model::{Analysed, ExpectedFacts, GeneratedFacts, TraceFacts, WrittenFacts};
use crate::number::{bytes, counted, grouped, rate, seconds};
use crate::result::{Report, Run};

/// One line per thing a reader of the results must know: nothing is lost silently. Empty for a clean trace.
pub fn notes(trace: &TraceFacts) -> String {
    let mut text = String::new();
    for missing in &trace.missing {
        text.push_str(&format!("missing: {}\n", printable(missing)));
    }
    if let Some(events) = trace.first_after {
        let events = if events == 1 { "event".to_owned() } else { format!("{} events", grouped(events)) };
        text.push_str(&format!("stopped: nothing was looked for after the first {events} (--first)\n"));
    }
    for (repair, count) in trace.repairs.made() {
        text.push_str(&format!("repaired: {} {}\n", grouped(count), repair.describe()));
    }
    for (what, count) in &trace.ignored {
        text.push_str(&format!("ignored: {} {}\n", grouped(*count), printable(what)));
    }
    text
}

/// What was checked, in a line: `no race: 5 threads, 2,872 events, 1 process, 0.3 s`.
pub fn clean(report: &Report, time: Duration) -> String {
    let sum = |of: fn(&Run) -> u64| report.runs.iter().map(of).sum::<u64>();
    let threads = counted(sum(|run| run.threads), "thread", "threads");
    let events = counted(sum(|run| run.events), "event", "events");
    let processes = counted(report.runs.len() as u64, "process", "processes");
    format!("no race: {threads}, {events}, {processes}, {:.1} s", time.as_secs_f64())
}

/// What was written, and what could not be.
pub fn written(written: &WrittenFacts) -> String {
    let WrittenFacts { file, format, events, bytes: size, lost_locations } = written;
    let mut text = String::new();
    if *lost_locations > 0 {
        text.push_str(&format!(
            "lost: {} source locations, which {format} cannot hold\n",
            grouped(*lost_locations)
        ));
    }
    text.push_str(&format!("{file}: {}, {}", counted(*events, "event", "events"), bytes(*size)));
    if *events > 0 {
        text.push_str(&format!(", {:.2} bytes an event", *size as f64 / *events as f64));
    }
    text.push('\n');
    text
}

/// What was generated, and how to do it again.
pub fn generated(facts: &GeneratedFacts<'_>) -> String {
    let mut text = written(&facts.written);
    text.push_str(&format!("seed {}; again: {}\n", facts.seed, facts.command));
    text
}

/// The races that a generated trace has by construction, all of them.
pub fn expected(facts: &GeneratedFacts<'_>) -> String {
    let mut text = String::new();
    for ExpectedFacts { notion, pairs, on, variables } in &facts.expected {
        if let Some(pairs) = pairs {
            let on = on.map(|var| format!(" on {}", printable(&facts.symbols.variables.display(var))));
            let count = counted(pairs.len() as u64, "race", "races");
            text.push_str(&format!("{notion}: {count}{}\n", on.unwrap_or_default()));
            for (first, second) in pairs {
                text.push_str(&format!("  events {first} and {second}\n"));
            }
        }
        if let Some(variables) = variables {
            let count = counted(variables.len() as u64, "racy variable", "racy variables");
            text.push_str(&format!("{notion}: {count}\n"));
            for variable in variables {
                text.push_str(&format!("  {}\n", printable(&facts.symbols.variables.display(*variable))));
            }
        }
    }
    text
}

/// What each detector cost.
pub fn timing(analysed: &Analysed<'_>) -> String {
    let mut text = String::new();
    for findings in &analysed.findings {
        text.push_str(&format!(
            "{}: {} in {}, {} events a second, peak state {}",
            findings.detector.name,
            counted(findings.events_read, "event", "events"),
            seconds(findings.time),
            rate(findings.events_per_second()),
            bytes(findings.peak_state_bytes as u64)
        ));
        for (figure, value) in &findings.figures {
            text.push_str(&format!(", {figure} {}", grouped(*value)));
        }
        text.push('\n');
    }
    text.push_str(&format!("total: {}\n", seconds(analysed.time)));
    text
}

/// Every kind of repair that was made, with what it means.
pub fn validation(trace: &TraceFacts, layout: &Layout) -> String {
    let events = counted(trace.events, "event", "events");
    let mut text = String::new();
    if trace.repairs.total() > 0 {
        let mut table = table::new(&["repair", "count", "what was found and done"], 1..2, layout);
        for (repair, count) in trace.repairs.made() {
            table.add_row([repair.name(), &grouped(count), repair.describe()]);
        }
        text.push_str(&table::lines(&table));
        let repairs = counted(trace.repairs.total(), "repair", "repairs");
        text.push_str(&format!("\nnot well formed: {repairs} in {events}\n"));
    } else {
        text.push_str(&format!("well formed: {events}\n"));
    }
    for (what, count) in &trace.ignored {
        text.push_str(&format!("ignored: {} {}\n", grouped(*count), printable(what)));
    }
    for missing in &trace.missing {
        text.push_str(&format!("missing: {}\n", printable(missing)));
    }
    text
}

//! The schedule of a predicted race or deadlock, thread by thread in columns.

use std::fmt::Write;

use overtake_detect::witness::{Overtaken, Reason, Row, Schedule, Step, shorten, shorten_deadlock};
use overtake_trace::{Symbols, ThreadId};

use super::{BOLD, DIM, Layout, printable, table, verdict_style};
use crate::event::operand_name;
use crate::model::{DeadlockWitnessFacts, WitnessFacts};
use crate::number::{counted, grouped};

/// Events of each of the two threads that are shown before its access, if nothing else makes them matter.
const CONTEXT: usize = 4;
/// With more threads than this, or without the room, one column for all of them reads better.
const MOST_COLUMNS: usize = 8;

/// The schedule: what matters of it, or every step.
pub fn witness(facts: &WitnessFacts<'_>, full: bool, layout: &Layout) -> String {
    let WitnessFacts { schedule, symbols, group, .. } = facts;
    let race = &schedule.race;
    let style = verdict_style(race.verdict);
    let mut text = String::new();
    let variable = printable(&symbols.variables.display(race.var));
    let verdict = race.verdict.word();
    line(&mut text, format_args!("{}. {style}{verdict} race{style:#} on {BOLD}{variable}{BOLD:#}", group.id));
    let length = counted(schedule.steps.len() as u64, "event", "events");
    line(
        &mut text,
        format_args!("After these {length} of the run, in this order, both accesses can happen next:\n"),
    );
    let last = [schedule.first, schedule.second];
    let rows = if full { every_step(&schedule.steps, &last) } else { shorten(schedule, CONTEXT) };
    text.push_str(&columns(&rows, |reason, step| remark(reason, step, schedule, symbols), symbols, layout));
    text.push('\n');
    for overtaken in &schedule.overtaken {
        line(&mut text, format_args!("{}", explain(overtaken, symbols)));
    }
    text.push_str(&ending(&rows));
    text
}

/// The schedule that leads to a deadlock: what matters of it, or every step.
pub fn deadlock_witness(facts: &DeadlockWitnessFacts<'_>, full: bool, layout: &Layout) -> String {
    let DeadlockWitnessFacts { schedule, symbols, id, .. } = facts;
    let steps = &schedule.deadlock.steps;
    let style = verdict_style(schedule.deadlock.verdict);
    let verdict = schedule.deadlock.verdict.word();
    let locks: Vec<_> = steps.iter().map(|step| printable(&symbols.locks.display(step.held))).collect();
    let mut text = String::new();
    let locks = locks.join(", ");
    line(&mut text, format_args!("{id}. {style}{verdict} deadlock{style:#} on {BOLD}{locks}{BOLD:#}"));
    let length = counted(schedule.steps.len() as u64, "event", "events");
    line(
        &mut text,
        format_args!("After these {length} of the run, in this order, each thread waits for the next one:\n"),
    );
    let rows = match full {
        true => every_step(&schedule.steps, &schedule.waiting),
        false => shorten_deadlock(schedule, CONTEXT),
    };
    let remark = |reason: Reason, step: &Step| match reason {
        Reason::Access => {
            let waiting = schedule.waiting.iter().position(|waiting| waiting == step).unwrap_or(0);
            let holder = &steps[(waiting + 1) % steps.len()];
            format!("<- waits: {} holds it", printable(&symbols.threads.display(holder.at.thread)))
        }
        Reason::Held => "held while it waits".into(),
        _ => String::new(),
    };
    text.push_str(&columns(&rows, remark, symbols, layout));
    text.push('\n');
    text.push_str(&ending(&rows));
    text
}

/// Who checked the schedule, and how to see more of it.
fn ending(rows: &[Row]) -> String {
    let mut text = String::new();
    line(
        &mut text,
        format_args!(
            "{DIM}checked: an independent checker replayed it as a correct reordering of the run{DIM:#}"
        ),
    );
    if rows.iter().any(|row| matches!(row, Row::Omitted(_))) {
        line(&mut text, format_args!("{DIM}--full shows every event{DIM:#}"));
    }
    text
}

fn every_step(steps: &[Step], last: &[Step]) -> Vec<Row> {
    let row = |reason| move |&step: &Step| Row::Step { step, reason };
    steps.iter().map(row(Reason::Context)).chain(last.iter().map(row(Reason::Access))).collect()
}

fn columns(
    rows: &[Row],
    remark: impl Fn(Reason, &Step) -> String,
    symbols: &Symbols,
    layout: &Layout,
) -> String {
    let mut threads: Vec<ThreadId> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Step { step, .. } => Some(step.event.thread()),
            Row::Omitted(_) => None,
        })
        .collect();
    threads.sort_unstable();
    threads.dedup();
    let name = |thread: ThreadId| printable(&symbols.threads.display(thread));
    let wide = threads.len() <= MOST_COLUMNS;
    let names: Vec<String> = if wide {
        threads.iter().map(|&thread| name(thread)).collect()
    } else {
        vec!["thread and event".into()]
    };
    let mut heading = vec!["event"];
    heading.extend(names.iter().map(String::as_str));
    heading.push("");
    let mut table = table::new(&heading, 0..1, layout);
    for row in rows {
        let mut cells = vec![String::new(); heading.len()];
        match row {
            Row::Step { step, reason } => {
                let thread = step.event.thread();
                cells[0] = grouped(step.index.0);
                let column = threads.binary_search(&thread).unwrap_or(0);
                match wide {
                    true => cells[1 + column] = describe(step, symbols),
                    false => cells[1] = format!("{}: {}", name(thread), describe(step, symbols)),
                }
                cells[heading.len() - 1] = remark(*reason, step);
            }
            Row::Omitted(counts) => {
                cells[0] = "...".into();
                for &(thread, count) in counts {
                    let left_out = counted(count, "event", "events");
                    match threads.binary_search(&thread) {
                        Ok(column) if wide => cells[1 + column] = format!("... {left_out}"),
                        _ => {
                            let last = heading.len() - 1;
                            let separator = if cells[last].is_empty() { "" } else { ", " };
                            cells[last].push_str(&format!("{separator}{left_out} of {}", name(thread)));
                        }
                    }
                }
            }
        }
        table.add_row(cells);
    }
    table::lines(&table)
}

fn describe(step: &Step, symbols: &Symbols) -> String {
    let event = &step.event;
    let mut text = event.op().describe().to_owned();
    let operand = operand_name(event, symbols);
    if !operand.is_empty() {
        let _ = write!(text, " {}", printable(&operand));
    }
    if event.location().is_known() {
        let _ = write!(text, " ({})", printable(&symbols.location_name(event.location())));
    }
    text
}

fn remark(reason: Reason, step: &Step, schedule: &Schedule, symbols: &Symbols) -> String {
    match reason {
        Reason::Access if step == &schedule.first => "<- races with the next".into(),
        Reason::Access => "<- races with the one before".into(),
        Reason::Held => "held at the access".into(),
        Reason::Overtakes => schedule
            .overtaken
            .iter()
            .find(|overtaken| overtaken.by == *step)
            .map(|overtaken| {
                let thread = symbols.threads.display(overtaken.left_out.event.thread());
                format!("overtakes {} at event {}", printable(&thread), grouped(overtaken.left_out.index.0))
            })
            .unwrap_or_default(),
        Reason::Reversed | Reason::Handover | Reason::Context => String::new(),
    }
}

fn explain(overtaken: &Overtaken, symbols: &Symbols) -> String {
    let lock = printable(&symbols.locks.display(overtaken.lock));
    let thread = |step: &Step| printable(&symbols.threads.display(step.event.thread()));
    format!(
        "In the run {} held `{lock}` (event {}) before {} did (event {}); here it has not taken it yet.",
        thread(&overtaken.left_out),
        grouped(overtaken.left_out.index.0),
        thread(&overtaken.by),
        grouped(overtaken.by.index.0),
    )
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a string does not fail.
    let _ = writeln!(text, "{line}");
}

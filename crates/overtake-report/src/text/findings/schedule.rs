//! A schedule in columns, a thread each.

use anstyle::Style;

use super::super::{BOLD, DIM};
use super::lines::Line;
use crate::function_name::abridged;
use crate::number::counted;
use crate::result::{Schedule, Step};

/// With less room for each thread, or more threads, one column for all of them reads better.
const LEAST_COLUMN: usize = 20;
const MOST_COLUMNS: usize = 6;
/// No column needs more.
const MOST_WIDTH: usize = 44;

/// How to draw.
#[derive(Clone, Copy)]
pub(super) struct Drawn {
    /// Columns of the terminal.
    pub(super) width: usize,
    /// The style of the two accesses.
    pub(super) mark: Style,
    /// Whether numbers of this very run are shown: indices, and how many events are left out.
    pub(super) exact: bool,
}

/// The steps in the order given, as positions.
pub(super) fn columns(schedule: &Schedule, order: &[u32], drawn: Drawn) -> Vec<Line> {
    let steps: Vec<&Step> = order.iter().filter_map(|&at| schedule.steps.get(at as usize)).collect();
    let mut lanes: Vec<u32> = steps.iter().map(|step| step.thread).collect();
    lanes.sort_unstable();
    lanes.dedup();
    let cells: Vec<String> = steps.iter().map(|step| cell(step)).collect();
    let room = drawn.width / lanes.len().max(1);
    let in_columns = lanes.len() <= MOST_COLUMNS && room >= LEAST_COLUMN;
    let widest = cells.iter().map(|cell| cell.chars().count()).max().unwrap_or(0) + 2;
    let column = if in_columns { room.min(widest.max(LEAST_COLUMN)).min(MOST_WIDTH) } else { 0 };
    let mut lines = Vec::new();
    if in_columns {
        let heading: String = lanes.iter().map(|&lane| padded(&name(schedule, lane), column)).collect();
        lines.push(Line::new(BOLD, heading.trim_end()));
    }
    for (step, cell) in steps.into_iter().zip(&cells) {
        let lane = lanes.binary_search(&step.thread).unwrap_or(0);
        let before = match in_columns {
            true => " ".repeat(lane * column),
            false => format!("{}: ", name(schedule, step.thread)),
        };
        let cell = if in_columns { abridged(cell, column - 1) } else { cell.clone() };
        if drawn.exact && step.omitted > 0 {
            let omitted = counted(step.omitted, "event", "events");
            lines.push(Line::plain(&before).and(DIM, &format!("... {omitted}")));
        }
        let style = if step.role.is_some() { drawn.mark } else { Style::new() };
        let number = if drawn.exact { format!("  [{}]", step.event) } else { String::new() };
        let race = if step.role.is_some() { "  <- race" } else { "" };
        lines.push(Line::plain(&before).and(style, &cell).and(style, race).and(DIM, &number));
    }
    lines
}

fn name(schedule: &Schedule, lane: u32) -> String {
    schedule.threads.get(lane as usize).cloned().unwrap_or_default()
}

fn padded(text: &str, column: usize) -> String {
    let text = abridged(text, column.saturating_sub(1));
    format!("{text}{}", " ".repeat(column.saturating_sub(text.chars().count())))
}

/// `acquire log_lock logger.c:14`.
fn cell(step: &Step) -> String {
    let place = step.place.rsplit(' ').next().unwrap_or_default();
    let parts = [step.operation.as_str(), &step.operand, place];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The steps that a witness leaves out.
pub(super) fn left_out(schedule: &Schedule) -> Vec<u32> {
    (0..schedule.steps.len() as u32).filter(|at| !schedule.witness.contains(at)).collect()
}

//! A schedule in columns, a thread each.

use anstyle::Style;

use super::super::{BOLD, DIM};
use super::lines::Line;
use crate::function_name::abridged;
use crate::number::counted;
use crate::result::{Schedule, Step};

/// With less room for a thread, one column for all of them reads better.
const LEAST_COLUMN: usize = 28;
/// Between columns.
const GAP: usize = 2;

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
    let columns = widths(schedule, &steps, &lanes, drawn);
    let mut lines = Vec::new();
    if let Some(columns) = &columns {
        let names = lanes.iter().zip(columns).map(|(&lane, &column)| padded(&name(schedule, lane), column));
        lines.push(Line::new(BOLD, names.collect::<String>().trim_end()));
    }
    for step in steps {
        let lane = lanes.binary_search(&step.thread).unwrap_or(0);
        let (before, room) = match &columns {
            Some(columns) => (" ".repeat(columns[..lane].iter().sum()), columns[lane] - GAP),
            None => {
                let name = format!("{}: ", name(schedule, step.thread));
                let room = drawn.width.saturating_sub(name.chars().count());
                (name, room)
            }
        };
        if drawn.exact && step.omitted > 0 {
            let omitted = counted(step.omitted, "event", "events");
            lines.push(Line::plain(&before).and(DIM, &format!("... {omitted}")));
        }
        let mark = mark(step, drawn);
        let style = if step.role.is_some() { drawn.mark } else { Style::new() };
        let cell = cell_within(step, room.saturating_sub(mark.chars().count()));
        lines.push(Line::plain(&before).and(style, &cell).and(DIM, &mark));
    }
    lines
}

/// The width of each column; none if there is not enough room.
fn widths(schedule: &Schedule, steps: &[&Step], lanes: &[u32], drawn: Drawn) -> Option<Vec<usize>> {
    let wanted = |&lane: &u32| {
        let of_lane = steps.iter().filter(|step| step.thread == lane);
        let cells = of_lane.map(|step| cell(step).chars().count() + mark(step, drawn).chars().count());
        cells.max().unwrap_or(0).max(name(schedule, lane).chars().count()) + GAP
    };
    let wanted: Vec<usize> = lanes.iter().map(wanted).collect();
    if wanted.iter().sum::<usize>() <= drawn.width + GAP {
        return Some(wanted);
    }
    let even = (drawn.width + GAP) / lanes.len().max(1);
    (even >= LEAST_COLUMN).then(|| vec![even; lanes.len()])
}

/// What follows a step.
fn mark(step: &Step, drawn: Drawn) -> String {
    let role = match step.role {
        Some(_) if step.operation == "acquire" => "  <- waits",
        Some(_) => "  <- race",
        None => "",
    };
    let number = if drawn.exact { format!("  [{}]", step.event) } else { String::new() };
    format!("{role}{number}")
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
    spelled(step, step.place.rsplit(' ').next().unwrap_or_default())
}

/// The same, if there is room for it; else with the line only, `acquire log_lock :14`; else without a place, and cut if need be.
fn cell_within(step: &Step, room: usize) -> String {
    let line = step.place.rfind(':').map_or("", |colon| &step.place[colon..]);
    let forms = [cell(step), spelled(step, line), spelled(step, "")];
    let fitting = forms.iter().find(|form| form.chars().count() <= room);
    fitting.cloned().unwrap_or_else(|| abridged(&spelled(step, ""), room))
}

fn spelled(step: &Step, place: &str) -> String {
    let parts = [step.operation.as_str(), &step.operand, place];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The steps that a witness leaves out.
pub(super) fn left_out(schedule: &Schedule) -> Vec<u32> {
    (0..schedule.steps.len() as u32).filter(|at| !schedule.witness.contains(at)).collect()
}

//! From positions in a summary to events: a second reading of the trace takes the events that an order names.

use overtake_trace::{EventIndex, EventSource, Id, Result, ThreadId};
use rustc_hash::FxHashMap;

use super::Step;
use crate::run::{LiveBlocks, read_checked, visit};
use crate::summary::{Collector, Event, Position, Summary, What};

/// What is to run, in this order, and what is next after it.
pub(super) struct Order {
    pub(super) run: Vec<Position>,
    pub(super) next: Vec<Position>,
}

/// The same as events.
pub(super) struct Planned {
    pub(super) steps: Vec<Step>,
    pub(super) next: Vec<Step>,
}

/// The summary of a trace with every event; up to the block with the event `last`, or to the end.
pub(super) fn summarise(source: &mut dyn EventSource, last: Option<EventIndex>) -> Result<Summary> {
    let mut collector = Collector::of_everything();
    let mut blocks = LiveBlocks::new();
    read_checked(source, last, |checked| visit(&mut collector, &mut blocks, checked))?;
    Ok(collector.finish())
}

/// The events of orders, from a second reading of the trace that the summary is of.
pub(super) fn carry_out(
    source: &mut dyn EventSource,
    summary: &Summary,
    orders: Vec<Option<Order>>,
) -> Result<Vec<Option<Planned>>> {
    let numbers = numbers(summary);
    let mut plans: Vec<_> =
        orders.into_iter().map(|order| Some(Plan::new(&order?, summary, &numbers))).collect();
    let mut done = vec![0; summary.sections.len()];
    let last = summary.events.last().map(|event| event.index);
    read_checked(source, last, |checked| {
        for run in checked.runs() {
            for (offset, &event) in run.events.iter().enumerate() {
                let step = Step { index: EventIndex(run.first.0 + offset as u64), event };
                let Some(number) = done.get_mut(event.thread().index()) else { continue };
                plans.iter_mut().flatten().for_each(|plan| plan.take(step, *number));
                *number += 1;
            }
        }
    })?;
    Ok(plans.into_iter().map(|plan| plan?.finish()).collect())
}

/// An event by its thread and its number in the thread.
type Name = (ThreadId, u32);

struct Plan {
    /// When each event runs.
    turns: FxHashMap<Name, usize>,
    steps: Vec<(usize, Step)>,
    next: Vec<(Option<Name>, Option<Step>)>,
}

impl Plan {
    fn new(order: &Order, summary: &Summary, numbers: &[Option<u32>]) -> Plan {
        let name = |&position: &Position| Some((summary.event(position).thread, numbers[position as usize]?));
        let turns = order.run.iter().enumerate();
        Plan {
            turns: turns.filter_map(|(turn, position)| Some((name(position)?, turn))).collect(),
            steps: Vec::new(),
            next: order.next.iter().map(|position| (name(position), None)).collect(),
        }
    }

    /// Takes the next event of the trace, which has this number in its thread.
    fn take(&mut self, step: Step, number: u32) {
        let name = (step.event.thread(), number);
        if let Some(&turn) = self.turns.get(&name) {
            self.steps.push((turn, step));
        }
        for (_, found) in self.next.iter_mut().filter(|(next, _)| *next == Some(name)) {
            *found = Some(step);
        }
    }

    fn finish(mut self) -> Option<Planned> {
        self.steps.sort_unstable_by_key(|&(turn, _)| turn);
        let steps = self.steps.into_iter().map(|(_, step)| step).collect();
        let next = self.next.into_iter().map(|(_, step)| step).collect::<Option<_>>()?;
        Some(Planned { steps, next })
    }
}

/// Per position, the number of the event in its thread; none for the second half of an event that reads a block as well.
fn numbers(summary: &Summary) -> Vec<Option<u32>> {
    let mut counts = vec![0; summary.sections.len()];
    let number = |event: &Event| {
        if matches!(event.what, What::Block(_)) {
            return None;
        }
        let count = &mut counts[event.thread.index()];
        *count += 1;
        Some(*count - 1)
    };
    summary.events.iter().map(number).collect()
}

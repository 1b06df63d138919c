//! From positions in a summary to events: a second reading of the trace takes the events that an order names.

use overtake_trace::{EventIndex, EventSource, Id, Result};

use super::Step;
use crate::run::{LiveBlocks, read_checked, visit};
use crate::summary::{Collector, Position, Summary, What};

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
    let positions = positions(summary);
    let mut done = vec![0; positions.len()];
    // By position.
    let mut steps: Vec<Option<Step>> = vec![None; summary.events.len()];
    let last = summary.events.last().map(|event| event.index);
    read_checked(source, last, |checked| {
        for run in checked.runs() {
            for (offset, &event) in run.events.iter().enumerate() {
                let thread = event.thread().index();
                let Some(number) = done.get_mut(thread) else { continue };
                if let Some(&position) = positions[thread].get(*number) {
                    let index = EventIndex(run.first.0 + offset as u64);
                    steps[position as usize] = Some(Step { index, event });
                }
                *number += 1;
            }
        }
    })?;
    let step = |&position: &Position| steps[position as usize];
    let planned = |order: Order| {
        let next = order.next.iter().map(step).collect::<Option<_>>()?;
        Some(Planned { steps: order.run.iter().filter_map(step).collect(), next })
    };
    Ok(orders.into_iter().map(|order| order.and_then(planned)).collect())
}

/// Per thread, the positions of its events, in their order. The second half of an event that reads a block as well is none.
fn positions(summary: &Summary) -> Vec<Vec<Position>> {
    let mut positions = vec![Vec::new(); summary.sections.len()];
    for (position, event) in (0..).zip(&summary.events) {
        if !matches!(event.what, What::Block(_)) {
            positions[event.thread.index()].push(position);
        }
    }
    positions
}

//! Building the schedules that lead to deadlocks.
//!
//! The trace up to the last waiting acquire is kept as a summary. What precedes the acquires, closed so that sections keep their
//! order, runs in trace order; after it every thread of the deadlock waits for the next.

use overtake_trace::{EventSource, Result};

use super::Step;
use super::plan::{Order, Planned, carry_out, summarise};
use crate::finding::{Deadlock, DeadlockStep};
use crate::summary::{Chosen, Position, Summary, What};

/// A schedule after which each thread of a deadlock waits for the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeadlockSchedule {
    /// The deadlock.
    pub deadlock: Deadlock,
    /// What runs first, in this order.
    pub steps: Vec<Step>,
    /// The acquires that wait, in the order of the deadlock's steps.
    pub waiting: Vec<Step>,
}

/// The schedules of sync-preserving deadlocks, from two readings of the trace that they are of; none for a cycle to which no
/// sync-preserving reordering leads.
pub fn build_deadlocks(
    first: &mut dyn EventSource,
    second: &mut dyn EventSource,
    deadlocks: &[Deadlock],
) -> Result<Vec<Option<DeadlockSchedule>>> {
    let last = deadlocks.iter().flat_map(|deadlock| &deadlock.steps).map(|step| step.at.index).max();
    let Some(last) = last else { return Ok(deadlocks.iter().map(|_| None).collect()) };
    let summary = summarise(first, Some(last))?;
    let orders: Vec<_> = deadlocks.iter().map(|deadlock| order(&summary, deadlock)).collect();
    let planned = carry_out(second, &summary, orders)?.into_iter();
    let schedules = planned.zip(deadlocks).map(|(planned, deadlock)| {
        let Planned { steps, next: waiting } = planned?;
        Some(DeadlockSchedule { deadlock: deadlock.clone(), steps, waiting })
    });
    Ok(schedules.collect())
}

fn order(summary: &Summary, deadlock: &Deadlock) -> Option<Order> {
    let next = deadlock.steps.iter().map(|step| acquire(summary, step)).collect::<Option<Vec<_>>>()?;
    let chosen = Chosen::sync_preserving(summary, &next)?;
    Some(Order { run: chosen.between(summary, 0, Position::MAX).collect(), next })
}

/// The acquire at which a thread of a deadlock waits.
fn acquire(summary: &Summary, step: &DeadlockStep) -> Option<Position> {
    summary.at(step.at.index).find(|&position| {
        let event = summary.event(position);
        let takes = |place| summary.section(event.thread, place).lock == step.lock;
        event.thread == step.at.thread && matches!(event.what, What::Acquire(place) if takes(place))
    })
}

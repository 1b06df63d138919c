//! Building the schedules of races that no sync-preserving reordering exhibits.
//!
//! The trace is kept as a summary, up to some events behind the last second access, because releases that come later may be used. The schedule is
//! the one of optimistic sync-reversal, or, where there is none, the one of saturation.

use overtake_trace::{EventIndex, EventSource, Result};

use super::Schedule;
use super::plan::{Order, Planned, carry_out, summarise};
use crate::m2::{SATURATION_EVENTS, Saturation};
use crate::osr::Checker as Reversal;
use crate::race::Race;
use crate::summary::Summary;

/// The schedules of races by any correct reordering, from two readings of the trace that they are of; none where none was
/// found. Critical sections that end more than `ahead` events after the last second access count as open.
pub fn build_any_order(
    first: &mut dyn EventSource,
    second: &mut dyn EventSource,
    races: &[Race],
    ahead: u64,
) -> Result<Vec<Option<Schedule>>> {
    let last = races.iter().map(|race| race.second.at.index.0.saturating_add(ahead)).max();
    let summary = summarise(first, last.map(EventIndex))?;
    let orders: Vec<_> = races.iter().map(|race| order(&summary, race)).collect();
    let planned = carry_out(second, &summary, orders)?.into_iter();
    let schedules = planned.zip(races).map(|(planned, race)| {
        let Planned { steps, next } = planned?;
        let [first, second] = next[..] else { return None };
        Some(Schedule { race: *race, steps, first, second, overtaken: Vec::new() })
    });
    Ok(schedules.collect())
}

fn order(summary: &Summary, race: &Race) -> Option<Order> {
    let first = summary.access_of(race.first.at.index, race.var)?;
    let second = summary.access_of(race.second.at.index, race.var)?;
    let by_reversal = Reversal::new(summary).schedule(first, second);
    let run = by_reversal.or_else(|| Saturation::new(summary, SATURATION_EVENTS).schedule(first, second))?;
    Some(Order { run, next: vec![summary.start(first), summary.start(second)] })
}

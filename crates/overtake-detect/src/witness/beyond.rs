//! Building the schedules of races that no sync-preserving reordering exhibits.
//!
//! The trace is kept as a summary, all of it, because releases after the second access may be used. The schedule is the one of
//! optimistic sync-reversal, or, where there is none, the one of saturation.

use overtake_trace::{EventSource, Result};

use super::Schedule;
use super::plan::{Order, Planned, carry_out, summarise};
use crate::m2::{SATURATION_EVENTS, Saturation};
use crate::osr::Checker as Reversal;
use crate::race::Race;
use crate::summary::Summary;

/// The schedules of races by any correct reordering, from two readings of the trace that they are of; none where none was
/// found.
pub fn build_any_order(
    first: &mut dyn EventSource,
    second: &mut dyn EventSource,
    races: &[Race],
) -> Result<Vec<Option<Schedule>>> {
    let summary = summarise(first, None)?;
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

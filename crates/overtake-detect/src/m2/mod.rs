//! Races by saturation: a partial order that every reordering must respect, completed to one schedule.
//!
//! **Source.** Pavlogiannis, *Fast, Sound, and Effectively Complete Dynamic Race Prediction*, POPL 2020; the formulation is ours.
//! **Answer.** The sync-preserving races and those found here: never a pair that cannot happen. On traces of two threads all
//! predictable races are found; with more, few are missed. A pair whose reordering takes more than `schedule_limit` events is not
//! judged, and counted.
//! **Steps**, for a pair of accesses: (1) the events that it takes: what precedes the two, and what ends the open sections of
//! other threads. (2) The order between them: thread order, reads after their writes, fork, join, wait; and what follows from it:
//! a write ordered before a read comes before the write that it sees, or else after the read; sections that exclude each other
//! do not overlap. (3) Conflicts among the other threads that are still open are settled in trace order, one by one, with
//! what follows from each; then the thread of the first access goes first wherever it may. If no cycle comes up, any
//! linearisation is a correct reordering. The two threads are tried in both roles.
//! **Differs from the paper.** A section of another thread whose end would take one of the accesses stays open; the published step
//! would give the pair up, and lose even sync-preserving races.
//! **Cost.** For each pair about the cube of the number of events it takes.

mod check;
mod order;

pub(crate) use check::Saturation;

/// The most events that saturation is tried with by default.
pub(crate) const SATURATION_EVENTS: u64 = 2_000;

use crate::passes::Analysis;
use crate::settings::{OptionError, Options};
use crate::summary::{Limits, Method, beyond};

/// Starts `m2`.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    let limits = Limits { window: u64::MAX, instances: options.instances(), first: options.first };
    let method = Method::Saturation(options.schedule_limit);
    Ok(beyond::<false>(method, limits, !options.no_filter, false))
}

//! Finds the races of every notion in small traces, by brute force from the definition.
//!
//! Detectors are tested against this crate, so it is slow and obvious where they are fast and clever: relations are
//! transitive closures over explicit edges, reorderings are enumerated, and there are no vector clocks. `docs/semantics.md` says what
//! the events mean; each function here is one definition of that page.
//!
//! Traces are first repaired by [`Checker::repairing`](overtake_trace::Checker::repairing), and pairs have
//! indices of the input, so that the races of a detector can be compared with them directly:
//!
//! ```
//! use overtake_oracle::{happens_before_races, second_events, sync_preserving_races, trace};
//!
//! let trace = trace("T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x");
//! assert!(happens_before_races(&trace).is_empty());
//! assert_eq!(second_events(&sync_preserving_races(&trace)).len(), 1);
//! ```
//!
//! [`for_each_random_trace`] does such a comparison on many random traces and shrinks those that fail.
#![forbid(unsafe_code)]

mod atomics;
mod compare;
mod deadlocks;
mod discipline;
mod enumeration;
mod happens_before;
mod history;
mod optimistic;
pub mod random;
mod recorded;
pub mod reordering;
mod set;
mod sync_preserving;
mod text;
mod weak_order;

use std::collections::BTreeSet;

use overtake_trace::{EventIndex, VarId};

pub use compare::{for_each_random_trace, is_well_formed, random_traces, same, shrink};
pub use deadlocks::{Deadlock, lock_order_cycles, sync_preserving_deadlocks, threads_that_wait_for_ever};
pub use discipline::{lock_cover_races, lock_set_variables, open_cover_races};
pub use enumeration::{
    is_predictable, predictable_deadlocks, predictable_races, sync_preserving_deadlocks_by_enumeration,
    sync_preserving_races_by_enumeration,
};
pub use happens_before::{happens_before_races, schedulable_races};
pub use history::{History, LockUse, Step, Touch};
pub use optimistic::{optimistic_races, optimistic_schedule, published_optimistic_races};
pub use recorded::{handed_over_pairs, recorded_order, recorded_races, recorded_schedulable_races};
pub use sync_preserving::{sync_preserving_ideal, sync_preserving_races};
pub use text::{show, trace};
pub use weak_order::weak_order_races;

/// Two accesses that race on a variable; the first comes earlier in the trace.
///
/// An access to an element of a heap block can race on the element and, with a `free`, on the block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pair {
    /// Input index of the earlier access.
    pub first: EventIndex,
    /// Input index of the later access.
    pub second: EventIndex,
    /// The variable.
    pub var: VarId,
}

/// The second events of the pairs, each once, in ascending order.
pub fn second_events(pairs: &BTreeSet<Pair>) -> Vec<EventIndex> {
    let events: BTreeSet<_> = pairs.iter().map(|pair| pair.second).collect();
    events.into_iter().collect()
}

/// The pairs whose span is at most `window`: the number of events from the first to the second, including both.
pub fn within(pairs: &BTreeSet<Pair>, window: u64) -> BTreeSet<Pair> {
    pairs.iter().copied().filter(|pair| pair.second.0 - pair.first.0 < window).collect()
}

/// The variables of the pairs.
pub fn variables(pairs: &BTreeSet<Pair>) -> BTreeSet<VarId> {
    pairs.iter().map(|pair| pair.var).collect()
}

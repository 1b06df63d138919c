//! Witnesses: schedules that bring two racing accesses side by side, and a checker that takes nothing for granted.
//!
//! The witness of a sync-preserving race `e1`, `e2` is the smallest closed set that contains what precedes the two, in
//! trace order. [`build`] computes it by reading the trace twice. Races that need sections swapped have the schedules that
//! [`build_any_order`] finds; [`build_deadlocks`] leads to deadlocks. [`verify`] replays a schedule, however it was made, against the definition of a correct
//! reordering, sync-preserving or not; it shares no code with the builders. A schedule that does
//! not verify is a bug and must be shown as one.
//!
//! Recordings do not say what racy reads saw. [`build_recorded`] and [`verify_recorded`] ask for every write that a read of the
//! schedule may have seen.

mod beyond;
mod build;
mod deadlock;
mod plan;
mod recorded;
mod reversed;
mod seen;
mod shorten;
mod verify;

use std::fmt;

use overtake_trace::{Event, EventIndex, LockId};

pub use beyond::build_any_order;
pub use build::build;
pub use deadlock::{DeadlockSchedule, build_deadlocks};
pub use recorded::build_recorded;
pub use reversed::{Reversal, reversals};
pub use shorten::{Reason, Row, shorten, shorten_deadlock};
pub use verify::{LockOrder, verify, verify_deadlocks, verify_recorded};

use crate::race::Race;

/// One event of a schedule, with its place in the input. An event that a repair inserted has the index of the input event
/// that it was inserted before.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Step {
    /// Index in the input trace.
    pub index: EventIndex,
    /// The event, as repaired.
    pub event: Event,
}

/// A schedule after which the two accesses of a race are both next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Schedule {
    /// The race.
    pub race: Race,
    /// What runs first, in this order.
    pub steps: Vec<Step>,
    /// The access that comes earlier in the input; next in its thread.
    pub first: Step,
    /// The access that comes later in the input; next in its thread.
    pub second: Step,
    /// Critical sections that the schedule leaves out although a later section of their lock runs: what kept the
    /// accesses apart in the run. One per lock, in the order of the sections that run.
    pub overtaken: Vec<Overtaken>,
}

impl Schedule {
    /// The reordered trace: the steps, then the two accesses.
    pub fn events(&self) -> impl Iterator<Item = Step> + '_ {
        self.steps.iter().copied().chain([self.first, self.second])
    }
}

/// A critical section left out of a schedule that runs a later one of its lock; of each lock the latest one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overtaken {
    /// The lock.
    pub lock: LockId,
    /// The acquire that is left out.
    pub left_out: Step,
    /// The release that ends its section, if it comes before the second access.
    pub left_out_end: Option<Step>,
    /// The first later acquire that runs.
    pub by: Step,
}

/// Why a schedule is not a witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The step at fault, by its position in the schedule; the number of steps if the end is at fault.
    pub step: usize,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "step {}: {}", self.step, self.message)
    }
}

impl std::error::Error for Violation {}

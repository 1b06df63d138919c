//! Schedules: what happened around the accesses of a finding, and in which order it might have happened.

use serde::{Deserialize, Serialize};

use super::finding::Access;
use super::frame::is_zero_wide;

/// What happened around the two accesses, and in which order it might have happened.
///
/// Steps are listed in the order of the run. Most events matter to nobody and are only counted, before the step that follows
/// them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Schedule {
    /// The threads that have a step, in order of their first one.
    pub threads: Vec<String>,
    /// The steps, in the order of the run.
    pub steps: Vec<Step>,
    /// The other order, as positions in `steps`, the accesses last: a correct reordering of the run, checked. Steps that are
    /// not in it do not take place before the accesses. Empty for a finding that was observed and needs no other order.
    pub witness: Vec<u32>,
    /// Critical sections that have a step.
    pub sections: Vec<Section>,
    /// What passes from step to step.
    pub arrows: Vec<Arrow>,
    /// Critical sections that the witness takes in another order than the run, in the order of the witness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reversals: Vec<Reversal>,
}

/// A section that comes later in the witness than in the run: its acquire has to wait for a release that came after it.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Reversal {
    /// The acquire that waits.
    pub acquire: Access,
    /// The release for which it waits.
    pub release: Access,
}

/// An event of a schedule.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Step {
    /// Index in the trace.
    pub event: u64,
    /// Its thread, as a position in [`Schedule::threads`].
    pub thread: u32,
    /// The operation in words: `acquire`, `write`, ...
    pub operation: String,
    /// On what; empty for none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub operand: String,
    /// `function file:line` or the trace's location; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Which access of the finding it is, as a position in [`Finding::accesses`](super::Finding::accesses); none if it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<u32>,
    /// Events of its thread between the step before (of the same thread) and this one that are not listed.
    #[serde(default, skip_serializing_if = "is_zero_wide")]
    pub omitted: u64,
}

/// A critical section.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Section {
    /// The lock.
    pub lock: String,
    /// Whether others may hold it at the same time.
    pub shared: bool,
    /// The thread, as a position in [`Schedule::threads`].
    pub thread: u32,
    /// Position of the acquire in `steps`; none if it is not listed.
    pub from: Option<u32>,
    /// Position of the release in `steps`; none if it is not listed.
    pub to: Option<u32>,
}

/// Something that passes from one step to another.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Arrow {
    /// Position of the step it comes from.
    pub from: u32,
    /// Position of the step it goes to.
    pub to: u32,
    /// What passes.
    pub kind: ArrowKind,
}

/// What passes from one step to another.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum ArrowKind {
    /// A value that was written is read.
    ReadsFrom,
    /// A lock that was released is taken.
    LockOrder,
    /// A thread is created.
    Fork,
    /// A thread's end is waited for.
    Join,
    /// A post is waited for.
    Wait,
    /// A lock that the other thread holds is waited for.
    WaitsFor,
}

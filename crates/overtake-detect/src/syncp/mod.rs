//! Sync-preserving races: races that happen in a reordering of the run that keeps, for each lock, the order of its acquires.
//!
//! **Source.** Mathur, Pavlogiannis and Viswanathan, *Optimal Prediction of Synchronization-Preserving Races*, POPL 2021.
//! **Definition.** A set of events is closed if with an event it contains what precedes it in its thread (for the first
//! one of a forked thread, the fork), the write that it sees, what a join or wait waits for, and, with two acquires of
//! one lock that are not both shared, the release that ends the earlier one's section. Two conflicting accesses `e1`, `e2`
//! in this order are a sync-preserving race if the smallest closed set that contains their predecessors does not contain
//! `e1`. That set in trace order is then a correct reordering of the run after which both are enabled: the witness.
//! **What a race means.** It can happen: the same program with the same inputs can run so that the two accesses are next.
//! All races that do not need two critical sections of a lock swapped are found, whatever lies between them.
//!
//! | file | holds |
//! | --- | --- |
//! | `sections.rs` | the critical sections that can still matter |
//! | `closure.rs` | closed sets as clocks, extended by a worklist over the acquires that come inside |
//! | `join.rs` | the union of two closed sets |
//! | `clocks.rs` | the closed set of every thread's past |
//! | `history.rs`, `held.rs` | accesses, and the locks held at them |
//! | `core.rs` | the detector |
//! | `chart.rs` | predictions from recordings, in which it is not known what racy reads saw |
//! | `full.rs`, `short.rs` | `syncp`, and `short-syncp` with a bounded horizon |
//! | `shared.rs` | `syncp` by several workers |
//! | `collect.rs` | what can be forgotten |
//! | `follow.rs` | the closed clocks fed with events, for other analyses |
//! | `filter.rs`, `facts.rs`, `guards.rs` | the first pass: variables and locks that cannot matter, and variables that locks protect |
//!
//! Witnesses are built and checked in `../witness/`, which computes closed sets by the clocks of this folder.
//!
//! **Differs from the paper.** The published pseudo-code takes the last acquire of a lock out of the list when it looks at
//! it, which loses ends of sections and reports accesses under one lock; it shares one cursor among second threads, which
//! loses races. There is no state per pair of threads and variable here except a cursor where one was needed: a check
//! starts from the closed past of the second thread and extends it by what precedes the first access.
//! **Cost.** With T threads, N events and A acquires, clocks cost O(N·T + A·T). A pair that neither the past of the second
//! thread nor a common lock settles costs O(T) and the acquires that the first thread knows of and the second does not.

mod chart;
mod clocks;
mod closure;
mod collect;
mod core;
mod facts;
mod filter;
mod follow;
mod full;
mod guards;
mod held;
mod history;
mod join;
mod sections;
mod shared;
mod short;
#[cfg(test)]
mod tests;
mod two_pass;

/// Finds all sync-preserving races in one pass, without a filter.
pub(crate) type Unfiltered = core::SyncPreserving<false>;

pub(crate) use clocks::Clocks;
pub(crate) use closure::{Ideal, LockTable, NO_GOAL};
pub(crate) use core::SyncPreserving;
pub(crate) use filter::{Census, Life, MOST_BYTES, Survey};
pub(crate) use follow::Follower;
pub(crate) use full::start as start_full;
pub(crate) use sections::{Learned, Sections};
pub(crate) use shared::start as start_shared;
pub(crate) use short::start as start_short;

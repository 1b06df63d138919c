//! Happens-before races: conflicting accesses that nothing orders in this very run.
//!
//! **Order.** The smallest transitive relation that contains thread order, fork → child, child → join, release → later
//! acquire of a lock (unless both are shared), post → later wait, and what C++20 atomics and fences release → where it
//! is acquired. `docs/semantics.md` has the table, `overtake_rules::flow`
//! the rules, and `sync.rs`, `short/` and `lockstamp/` three ways to keep what flows.
//! **Race.** Two accesses to one variable by different threads, at least one writing, not both atomic, the first not
//! ordered before the second. An access is judged after its own incoming edges: an acquiring load is ordered after what
//! it acquires.
//! **What a race means.** Both accesses happened, and no synchronisation of this run would have kept them apart. Only the
//! first race of a trace is sure to be possible side by side: a later one may owe the values it works on to an earlier
//! one. The schedulable races of `shb/` are the ones that are all possible.
//!
//! **Where the time goes.** Of the 330 instructions that an event of a lock-heavy trace costs end to end (10 million events,
//! 16 threads, 32 locks, 20,000 variables, `fasttrack`, from a sealed file), 150 are decoding, 50 checking and 130 the
//! detector: 65 in the loop and the variable's history, 65 in the clocks (110 an acquire, 140 a release that publishes
//! something new). In time, jumps that depend on the operation come first, then the cache miss on the variable's epochs,
//! then joins. With a million variables the miss on the epochs is half of everything, which is why they are kept apart
//! from what only races need, in 16 bytes.
//!
//! | file | holds |
//! | --- | --- |
//! | `sync.rs` | what threads know, as vector clocks |
//! | `history.rs` | what a variable remembers |
//! | `by_clocks.rs` | detectors that judge accesses by the clocks of `sync.rs` |
//! | `full.rs` | `hb`, which reports every racy access |
//! | `fasttrack.rs` | `fasttrack`, exact to the first race of each variable |
//! | `stretched.rs` | both on a stretch of a trace |
//! | `shb/` | `shb`, the schedulable races |
//! | `short.rs` | `short-hb`, races within a window, in memory that the window bounds |
//! | `lockstamp.rs` | `lockstamp`, time indexed by locks instead of threads |
//! | `last_accesses.rs` | what a variable remembers, for these two |

mod by_clocks;
mod fasttrack;
mod full;
pub(crate) mod history;
mod last_accesses;
pub(crate) mod lockstamp;
pub(crate) mod shb;
pub(crate) mod short;
pub(crate) mod stretched;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use by_clocks::{ByClocks, Judge};
pub(crate) use fasttrack::FastTrack;
pub(crate) use full::HappensBefore;
pub(crate) use history::{Histories, Judged};
pub(crate) use sync::SyncClocks;

/// What holds knowledge in a trace.
pub(crate) type Carrier = overtake_rules::Carrier<overtake_trace::TraceIds>;

//! Happens-before races: conflicting accesses that nothing orders in this very run.
//!
//! **Order.** The smallest transitive relation that contains thread order, fork → child, child → join, release → later
//! acquire of a lock (unless both are shared), post → later wait, and what C++20 atomics and fences release → where it
//! is acquired. `docs/semantics.md` has the table, `sync.rs` the one implementation.
//! **Race.** Two accesses to one variable by different threads, at least one writing, not both atomic, the first not
//! ordered before the second. An access is judged after its own incoming edges: an acquiring load is ordered after what
//! it acquires.
//! **What a race means.** Both accesses happened, and no synchronisation of this run would have kept them apart. Only the
//! first race of a trace is sure to be possible side by side: a later one may owe the values it works on to an earlier
//! one. The schedulable races of `shb/` are the ones that are all possible.
//!
//! | file | holds |
//! | --- | --- |
//! | `sync.rs` | what operations order |
//! | `history.rs` | what a variable remembers |
//! | `full.rs` | `hb`, which reports every racy access |
//! | `fasttrack.rs` | `fasttrack`, exact to the first race of each variable |
//! | `shb/` | `shb`, the schedulable races |
//! | `short.rs` | `short-hb`, races within a window, in memory that the window bounds |
//! | `lockstamp.rs` | `lockstamp`, time indexed by locks instead of threads |
//! | `rules.rs` | what operations order, for these two, as flows between threads and carriers |
//! | `last_accesses.rs` | what a variable remembers, for these two |

mod fasttrack;
mod full;
mod history;
mod last_accesses;
pub(crate) mod lockstamp;
mod rules;
pub(crate) mod shb;
pub(crate) mod short;
mod sync;
#[cfg(test)]
mod tests;

pub(crate) use fasttrack::FastTrack;
pub(crate) use full::HappensBefore;
pub(crate) use sync::SyncClocks;

//! Races by optimistic sync-reversal: reorderings that may swap the critical sections of a lock.
//!
//! **Source.** Shi, Mathur and Pavlogiannis, *Optimistic Prediction of Synchronization-Reversal Data Races*, ICSE 2024.
//! **Definition.** See `docs/semantics.md`: take what the two accesses cannot run without, end every section that can be ended
//! without them, and keep the order of the trace, except that sections which stay open come last. If that is possible, both accesses are
//! next after it.
//! **Answer.** The sync-preserving races, and the races by this definition: every access that is in one of either with an earlier
//! one. Of pairs between the same locations the first few are judged (`instances`); the others are counted.
//! **What a race means.** It can happen: the order is a correct reordering of the run.
//!
//! `check.rs` judges a pair and makes its schedule; `circle.rs` says why a pair has none. Which pairs are judged, and the passes, are in `../summary/`.
//!
//! **Differs from the paper.** The whole trace is used, not the part up to the second access. The published tool takes a thread that
//! is reached only through another for one that is not reached, misses cycles and reports pairs that cannot happen; it numbers
//! threads in two ways. The order is tested by running it, not by queries for reachability.
//! **Cost.** What `syncp` costs, the events in memory that can matter, and for each pair judged what `check.rs` says.

mod check;
mod circle;

pub(crate) use check::Checker;

use crate::passes::Analysis;
use crate::settings::{OptionError, Options};
use crate::summary::{Limits, Method, beyond};

/// So many threads are started before threads that come one after the other share a number. Then one race of an event with threads that share
/// a number is judged, not one with each of them: it may be called possible where another one is sure. So few programs get there.
const OWN_NUMBERS: u64 = 1024;

/// What people must know where that happens.
const ON_SHARING: &str = "more than 1,024 threads were started, so threads that come one after the other count as one: a race that is called \
                          possible with one of them may be sure with another";

/// Starts `osr`, and hands out what `syncp` finds if that is wanted.
pub(crate) fn start_full<const WITH_SYNCP: bool>(options: &Options) -> Result<Analysis, OptionError> {
    let limits = Limits { window: u64::MAX, instances: options.instances(), first: options.first };
    let analysis = beyond::<false>(Method::Reversal, limits, !options.no_filter, WITH_SYNCP);
    Ok(analysis.sharing_numbers_after(OWN_NUMBERS).remarking_on_sharing(ON_SHARING))
}

/// Starts `short-osr`, and hands out what `short-syncp` finds if that is wanted.
pub(crate) fn start_short<const WITH_SYNCP: bool>(options: &Options) -> Result<Analysis, OptionError> {
    let limits = Limits { window: options.window, instances: options.instances(), first: options.first };
    let analysis = beyond::<true>(Method::Reversal, limits, !options.no_filter, WITH_SYNCP);
    Ok(analysis.sharing_numbers_after(OWN_NUMBERS).remarking_on_sharing(ON_SHARING))
}

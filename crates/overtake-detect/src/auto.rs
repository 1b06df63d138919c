//! Which of several exact detectors to run on a trace.

use crate::registry::{Entry, find};

/// How many times more threads than locks there must be for lock-indexed time to pay off.
///
/// Lock-indexed time costs O(N·L) where vector clocks cost O(N·T), but reads the trace twice and keeps its flows.
const THREADS_PER_LOCK: u64 = 16;

/// The happens-before detector that suits a trace of so many threads and locks: `lockstamp` if there are far fewer locks
/// than threads, else `hb`. Both find the same races.
pub fn happens_before_for(threads: u64, locks: u64) -> Option<&'static Entry> {
    let few_locks = locks.saturating_mul(THREADS_PER_LOCK) <= threads;
    find(if few_locks { "lockstamp" } else { "hb" })
}

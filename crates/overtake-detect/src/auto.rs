//! Which of several exact detectors to run on a trace.

use crate::registry::{Entry, find};

/// The fewest threads, and the fewest threads per lock, for lock-indexed time to pay off.
///
/// Lock-indexed time costs O(N·L) where vector clocks cost O(N·T), but reads the trace twice and keeps its flows. Measured
/// on random sections of all threads on all locks, in ns per event, `hb` against `lockstamp`:
///
/// | threads | 4 locks | 16 locks | 64 locks |
/// | --- | --- | --- | --- |
/// | 256 | 33 / 105 | 48 / 145 | 37 / 385 |
/// | 1024 | 160 / 149 | 147 / 120 | 168 / 411 |
/// | 4096 | 868 / 188 | 1058 / 152 | 1128 / 547 |
///
/// With 10,000 threads, 128 at a time, and 256 locks `hb` is still half as fast again.
const FEWEST_THREADS: u64 = 1024;
const THREADS_PER_LOCK: u64 = 64;

/// The happens-before detector that suits a trace of so many threads and locks: `lockstamp` if there are far fewer locks
/// than threads, else `hb`. Both find the same races.
pub fn happens_before_for(threads: u64, locks: u64) -> Option<&'static Entry> {
    let few_locks = threads >= FEWEST_THREADS.max(locks.saturating_mul(THREADS_PER_LOCK));
    find(if few_locks { "lockstamp" } else { "hb" })
}

//! What every thread knows weakly need not be kept for any.
//!
//! A thread that is yet to be forked will know what its starter knows by happens-before, or, if that one is yet to be forked as well, its
//! starter. A thread that has done its last event learns nothing any more.

use std::ops::Range;

use overtake_clock::{Epoch, Stamp, Time, VectorClock};
use overtake_trace::ThreadId;

use super::store::Store;

/// By thread, the time up to which all others know it weakly. Nobody knows anything of threads beyond the end.
#[derive(Debug)]
pub(super) struct Known(Vec<Time>);

impl Known {
    /// Everything of so many threads.
    pub(super) fn everything(threads: usize) -> Known {
        Known(vec![Time::MAX; threads])
    }

    /// How many threads somebody may know of.
    pub(super) fn threads(&self) -> usize {
        self.0.len()
    }

    /// Only what `clock`, the clock of `own`, knows of other threads. It knows all of the `settled` threads.
    pub(super) fn limit_to(&mut self, clock: &VectorClock, own: ThreadId, settled: &Range<usize>) {
        let threads = self.0.len();
        for thread in (0..settled.start.min(threads)).chain(settled.end..threads) {
            if thread != own.0 as usize {
                self.0[thread] = self.0[thread].min(clock.get(thread as u32));
            }
        }
    }

    pub(super) fn covers(&self, epoch: Epoch) -> bool {
        epoch.time <= self.0.get(epoch.thread as usize).copied().unwrap_or(0)
    }

    /// Whether somebody may have to learn this. If not, its reference is given back.
    pub(super) fn keeps(&self, stamp: Stamp, store: &mut Store) -> bool {
        let is_known = self.covers(stamp.epoch);
        if is_known {
            store.release(stamp.snapshot);
        }
        !is_known
    }
}

//! What a bounded horizon lets us forget.
//!
//! Every pair that is still to be judged has its first access in the window or yet to come. So every closure to come
//! contains the clock before that access, and all of them contain `K`, the componentwise minimum over all threads of the
//! clock before their oldest access in the window, or of their current clock if they have none there. A section that ended
//! inside `K` has ended inside every closure to come and may be forgotten; that its lock was acquired so late
//! is remembered by number (see [`Sections::forget`](super::closure::Sections::forget)).
//!
//! Threads that make no access any more, fork nobody and have no access in the window take no part. Threads not yet forked
//! will know at least what their parent knows, so they take none either; but a thread that no fork starts begins knowing
//! nothing, so nothing can be forgotten before the last one of those has begun. The first pass tells.
//!
//! **Source.** The published window algorithm (*Efficient Dynamic Algorithms to Predict Short Races*) frees a section's
//! record when its acquire leaves the window; that loses ends of sections that matter, so that accesses under one lock
//! are reported. The rule above keeps every verdict.
//! **Cost.** A collection visits all state there is; the next one waits for as many accesses. So it costs O(1) per access.

use overtake_clock::Time;
use overtake_trace::{EventIndex, Id, ThreadId};

use super::core::SyncPreserving;

/// When to collect next.
#[derive(Debug)]
pub(super) struct Collections {
    accesses_to_go: usize,
}

/// Collections are at least so many accesses apart.
const FEWEST_ACCESSES: usize = 1 << 13;

impl Default for Collections {
    fn default() -> Self {
        Collections { accesses_to_go: if cfg!(test) { 1 } else { FEWEST_ACCESSES } }
    }
}

impl Collections {
    /// Counts an access; true if it is time to collect.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.accesses_to_go = self.accesses_to_go.saturating_sub(1);
        self.accesses_to_go == 0
    }
}

impl<const BOUNDED: bool> SyncPreserving<BOUNDED> {
    /// Forgets what no closure to come can need.
    #[cold]
    pub(super) fn collect(&mut self, now: EventIndex) {
        let mut work = self.clocks.sections.kept() + self.clocks.table_entries();
        if let Some(known) = self.known_everywhere(now, &mut work) {
            self.clocks.forget(&known);
        }
        work += self.history.sweep();
        self.cursors.clear();
        self.cursors.shrink_to(work);
        // Tests collect before every access.
        self.collections.accesses_to_go = if cfg!(test) { 1 } else { work.max(FEWEST_ACCESSES) };
    }

    /// `K`; none if it is empty.
    fn known_everywhere(&mut self, now: EventIndex, work: &mut usize) -> Option<Vec<Time>> {
        let threads = self.census.threads.len();
        let mut oldest = vec![None; threads];
        let mut unseen = threads;
        for entry in self.history.log.iter() {
            let slot = &mut oldest[entry.epoch.thread as usize];
            if slot.is_none() {
                *slot = Some((entry.epoch, entry.learned));
                unseen -= 1;
            }
            *work += 1;
            if unseen == 0 {
                break;
            }
        }
        let mut known: Option<Vec<Time>> = None;
        for (thread, oldest) in oldest.into_iter().enumerate() {
            let thread = ThreadId::from_index(thread);
            let facts = self.census.threads[thread];
            let clock = match oldest {
                Some((epoch, learned)) => self.clocks.times_before(epoch, learned),
                None if facts.last_needed < Some(now) => continue,
                None => self.clocks.times(thread),
            };
            if clock.is_empty() && !facts.is_root {
                continue; // not forked yet
            }
            match &mut known {
                None => known = Some(clock),
                Some(known) => {
                    known.truncate(clock.len());
                    known.iter_mut().zip(clock).for_each(|(known, time)| *known = time.min(*known));
                }
            }
        }
        known.filter(|known| !known.is_empty())
    }
}

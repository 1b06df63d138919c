//! What can be forgotten because no later closure needs it.
//!
//! Every race still to be found has its second access to come, and every closure to come contains the past of the thread
//! of that access, which is at least what that thread's past is now. So all closures to come contain `K`, the
//! componentwise minimum of the pasts of all threads with such an access to come.
//!
//! - An access inside `K` is inside every closure to come, so it is in no race to come and leaves the log.
//! - A section that ended inside `K` has ended inside every closure to come. What remains to be known of it is that its
//!   lock was acquired so late, by number (see [`Sections::forget`](super::sections::Sections::forget)).
//!
//! A thread that waits for others before its next such access has learned by then what they know now, and what those know that they wait for themselves. So
//! a main thread that only joins its workers and reads the result holds nothing back.
//!
//! Threads not yet forked will know at least what their parent knows, so a fork to come counts like an access to come, and
//! they take no part themselves. A thread that no fork starts begins knowing nothing, so nothing is forgotten before the
//! last one of those has begun. The first pass finds that out; without it nothing is forgotten.
//!
//! **Source.** The published window algorithm (Zhang and Viswanathan, *Efficient Dynamic Algorithms to Predict Short Races*, arXiv 2603.03141,
//! 2026) frees a section's record when its acquire leaves the window; that loses ends of sections that matter, so that accesses under one
//! lock are reported. The rule above keeps every verdict, and needs no window: it bounds `syncp` as well wherever threads
//! learn of each other.
//! **Cost.** A collection visits all state there is; the next one waits for as many accesses. So it costs O(1) per access.

use overtake_clock::Time;
use overtake_trace::{EventIndex, ThreadId};

use super::core::SyncPreserving;

/// When to collect next.
#[derive(Debug)]
pub(super) struct Collections {
    accesses_to_go: usize,
}

/// Collections are at least this many accesses apart.
const FEWEST_ACCESSES: usize = 1 << 14;

/// So many entries of the tables of threads take no longer to visit than an access. They are the square of the number of threads.
const TABLE_SHARE: usize = 16;

impl Default for Collections {
    fn default() -> Self {
        Collections::after(0)
    }
}

impl Collections {
    /// The next collection is due when it has cost the last one's work, spread over accesses. Under test it is due at once.
    fn after(work: usize) -> Collections {
        Collections { accesses_to_go: if cfg!(test) { 1 } else { work.max(FEWEST_ACCESSES) } }
    }

    /// Counts an access; true if it is time to collect.
    #[inline]
    pub(super) fn is_due(&mut self) -> bool {
        self.accesses_to_go = self.accesses_to_go.saturating_sub(1);
        self.accesses_to_go == 0
    }
}

impl<const BOUNDED: bool> SyncPreserving<BOUNDED> {
    /// Forgets what no closure to come can need. The event at `now` is still to be checked.
    #[cold]
    pub(super) fn collect(&mut self, now: EventIndex) {
        let mut work = self.clocks.settle_all() / TABLE_SHARE
            + self.clocks.sections.entries()
            + self.clocks.table_entries() / TABLE_SHARE;
        if let Some(known) = self.known_everywhere(now) {
            self.clocks.forget(&known);
            while self.history.log.pop_known(&known).is_some() {}
        }
        work += self.history.sweep(&mut self.held);
        self.cursors.clear();
        self.cursors.shrink_to(work);
        self.collections = Collections::after(work);
    }

    /// `K`; none if it is empty.
    fn known_everywhere(&self, now: EventIndex) -> Option<Vec<Time>> {
        let mut known: Option<Vec<Time>> = None;
        for (thread, facts) in self.census.threads.enumerate() {
            if facts.last_needed < Some(now) {
                continue;
            }
            let past = self.clocks.times(thread);
            if past.is_empty() && !facts.is_root {
                continue; // not forked yet
            }
            let past = self.with_joined(past, thread, now);
            match &mut known {
                None => known = Some(past),
                Some(known) => {
                    known.truncate(past.len());
                    known.iter_mut().zip(past).for_each(|(known, time)| *known = time.min(*known));
                }
            }
        }
        known.filter(|known| !known.is_empty())
    }

    /// What a thread with this past knows at its next access that can be the second of a race, as far as it is known now.
    fn with_joined(&self, mut past: Vec<Time>, thread: ThreadId, now: EventIndex) -> Vec<Time> {
        for joined in self.census.joined_first(thread, now) {
            let brought = self.clocks.times(joined);
            past.resize(past.len().max(brought.len()), 0);
            past.iter_mut().zip(brought).for_each(|(known, time)| *known = time.max(*known));
        }
        past
    }
}

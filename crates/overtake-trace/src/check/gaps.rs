//! Gaps: places where events are missing, so that nobody knows what they ordered.
//!
//! A gap is a `gap` event, or a block whose first index is beyond the end of the block before. The lost events may have ordered
//! anything, so a gap is a barrier: everything before it comes before everything after it. The checker expresses this
//! in operations that every detector knows: each thread seen so far posts an object of the gap, then each waits for it. A thread
//! whose first event comes later waits as well, because its fork may be lost.
//!
//! Locks: sections that are open at a gap end there, because their releases may be lost. A lock may also have been acquired within
//! the gap. Then its release names a lock that nobody seems to hold. Until that release the lock excluded other threads, but no event
//! shows it to the detectors. So the release is another barrier, which orders all that the section could have ordered.
//!
//! Blocks: a block that is freed after a gap without an allocation may have been allocated within the gap. Accesses after the free are
//! compared with it, earlier ones are not. A block that is allocated after it was accessed is a new block from then on.

use super::locks::release_of;
use super::ordinary::Holder;
use super::threads::Status;
use super::{Checker, Repair};
use crate::error::Result;
use crate::event::{Action, Event};
use crate::id::{EventIndex, Id, LocationId, LockId, SyncId, ThreadId};
use crate::symbols::Symbols;

/// What is known of gaps so far.
#[derive(Default, Debug)]
pub(super) struct Gaps {
    /// The index that the next block starts with, unless events are missing. None for a window, which may begin anywhere.
    pub(super) next: Option<EventIndex>,
    /// The object of the latest barrier. Threads that were not seen before it wait for this object at their first event.
    barrier: Option<SyncId>,
    barriers: u64,
}

impl Gaps {
    /// No gaps yet, for a trace that begins with event 0.
    pub(super) fn at_start() -> Gaps {
        Gaps { next: Some(EventIndex(0)), ..Gaps::default() }
    }

    /// Whether events were missing so far.
    pub(super) fn are_any(&self) -> bool {
        self.barrier.is_some()
    }
}

/// The name of the objects that threads post and wait for at gaps.
const NAME: &[u8] = b"(events missing)";

impl Checker {
    /// Notes that a block starts at `first` and ends before `end`: a gap lies before it if events are missing.
    pub(super) fn note_block(
        &mut self,
        first: EventIndex,
        end: EventIndex,
        symbols: &mut Symbols,
    ) -> Result<()> {
        match self.gaps.next.replace(end) {
            Some(expected) if first > expected => self.gap(0, first, symbols),
            _ => Ok(()),
        }
    }

    /// A gap before the event at `at` of the block.
    pub(super) fn gap(&mut self, at: usize, index: EventIndex, symbols: &mut Symbols) -> Result<()> {
        self.mend(Repair::Gap, index, || "events are missing here".into())?;
        let open: Vec<LockId> = self.ordinary.locks_in_use().collect();
        for lock in open {
            self.end_sections(lock, at);
        }
        self.barrier(at, symbols)
    }

    /// A release of a lock that nobody seems to hold. Returns whether the lock may have been acquired within a gap.
    pub(super) fn release_after_gap(
        &mut self,
        at: usize,
        index: EventIndex,
        symbols: &mut Symbols,
    ) -> Result<bool> {
        if self.gaps.barrier.is_none() {
            return Ok(false);
        }
        self.mend(Repair::ReleaseAfterGap, index, || "a lock is released that a lost event acquired".into())?;
        self.barrier(at, symbols)?;
        Ok(true)
    }

    /// A thread's first event.
    pub(super) fn wait_for_gap(&mut self, event: Event, thread: ThreadId, at: usize) {
        if let Some(barrier) = self.gaps.barrier {
            self.insert(at, Event::new(thread, Action::Wait(barrier), event.location()));
        }
    }

    fn barrier(&mut self, at: usize, symbols: &mut Symbols) -> Result<()> {
        self.gaps.barriers += 1;
        let barrier = symbols.objects.intern_generation(NAME, self.gaps.barriers)?;
        self.gaps.barrier = Some(barrier);
        self.ordinary.leave_accesses_out(true);
        let seen = self.threads.iter().enumerate().filter(|(_, state)| state.status != Status::Unseen);
        let seen: Vec<ThreadId> = seen.map(|(thread, _)| ThreadId::from_index(thread)).collect();
        for action in [Action::Post(barrier), Action::Wait(barrier)] {
            for &thread in &seen {
                self.insert(at, Event::new(thread, action, LocationId::UNKNOWN));
            }
        }
        Ok(())
    }

    /// Ends all sections of a lock.
    fn end_sections(&mut self, lock: LockId, at: usize) {
        self.renew_lock(lock);
        let word = self.ordinary.holder(lock);
        let holdings = self.locks[lock].end_all(word);
        self.ordinary.set_holder(lock, Holder::Nobody);
        for holding in holdings {
            self.insert(at, release_of(holding, lock, LocationId::UNKNOWN));
        }
    }
}

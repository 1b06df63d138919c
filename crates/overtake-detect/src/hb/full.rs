//! All happens-before races: every access that races with an earlier one.
//!
//! **Source.** Pozniansky and Schuster, *Efficient On-the-Fly Data Race Detection in Multithreaded C++ Programs* (Djit+),
//! PPoPP 2003, with FastTrack's epochs where accesses are ordered.
//! **Answer.** Exactly the second events of happens-before races, each with one partner: the latest access that it races
//! with, among those that `history.rs` keeps.
//! **State.** `sync.rs` for the clocks, `history.rs` for the accesses.
//! **Cost.** O(1) per access of a variable whose accesses are ordered, O(threads) per synchronisation that teaches.

use overtake_clock::{Epoch, Time};
use overtake_trace::{EventIndex, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use super::history::{Histories, Judged};
use super::sync::SyncClocks;
use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::race::{RaceLog, Verdict};

/// Reports every access that races with an earlier one.
pub(crate) type HappensBefore = Epochs<true>;

/// A happens-before detector; `EVERY_RACE` as in [`Histories`].
#[derive(Default, Debug)]
pub(crate) struct Epochs<const EVERY_RACE: bool> {
    clocks: SyncClocks,
    histories: Histories<EVERY_RACE>,
    /// The latest atomic access, with the epoch it was made in. The read of its heap block that may follow is part of
    /// the same event and belongs to that epoch, although the access has advanced the thread's time.
    latest_atomic: Option<(EventIndex, Epoch)>,
}

impl<const EVERY_RACE: bool> Epochs<EVERY_RACE> {
    /// The time of each thread, for a barrier.
    pub(crate) fn times(&self, times: &mut Vec<Time>) {
        self.clocks.times(times);
    }

    /// The thread goes on after everything up to `barrier`, and its own time is one that nobody knows.
    pub(crate) fn pass_barrier(&mut self, thread: ThreadId, barrier: &[Time]) {
        self.clocks.pass_barrier(thread, barrier);
    }
}

impl<const EVERY_RACE: bool> Detector for Epochs<EVERY_RACE> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.histories.reserve(sizes);
    }

    #[inline(always)]
    fn read(&mut self, at: At, var: VarId, races: &mut RaceLog) {
        let clock = self.clocks.thread(at.thread);
        let epoch = match self.latest_atomic {
            Some((index, epoch)) if index == at.index => epoch,
            _ => clock.epoch(),
        };
        self.histories.plain(clock, epoch, var, observed(at, AccessKind::Read), races);
    }

    #[inline(always)]
    fn write(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        self.plain(at, var, kind, races);
    }

    const PLAIN_ALIKE: bool = true;

    #[inline(always)]
    fn plain(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        let clock = self.clocks.thread(at.thread);
        self.histories.plain(clock, clock.epoch(), var, observed(at, kind), races);
    }

    fn atomic(&mut self, at: At, var: VarId, kind: AccessKind, order: MemoryOrder, races: &mut RaceLog) {
        self.clocks.atomic_acquire(at.thread, var, kind, order);
        let clock = self.clocks.thread(at.thread);
        let epoch = clock.epoch();
        self.histories.atomic(clock, epoch, var, observed(at, kind), races);
        self.latest_atomic = Some((at.index, epoch));
        self.clocks.atomic_release(at.thread, var, kind, order);
    }

    fn fence(&mut self, at: At, order: MemoryOrder) {
        self.clocks.fence(at.thread, order);
    }

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.acquire(at.thread, lock, mode);
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.release(at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.clocks.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.clocks.join(at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.clocks.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.clocks.wait(at.thread, object);
    }

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes() + self.histories.state_bytes()
    }
}

#[inline]
fn observed(at: At, kind: AccessKind) -> Judged {
    Judged { at, kind, verdict: Verdict::Observed }
}

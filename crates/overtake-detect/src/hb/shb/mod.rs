//! Schedulable happens-before races: all of them can happen side by side.
//!
//! **Source.** Mathur, Kini and Viswanathan, *What Happens-After the First Race?*, OOPSLA 2018.
//! **Order.** Happens-before, and from each write (plain, atomic or free) to the reads that see it.
//! **Answer.** Exactly the accesses `e2` with an earlier conflicting access that is not before-or-at `prev(e2)`: neither the
//! write that `e2` reads nor what it acquires counts. Each such pair is a race of a correct reordering of the trace.
//! **State.** As for `hb`, and per variable `LW_x`, the clock of its last write, as a stamp of 12 bytes.
//! **Handlers.** An access, and the read of its heap block with it, is judged and recorded under the clock its thread has
//! *before* it. Then it learns: it joins `LW_x` of what it reads and what it acquires. Last it makes itself known: what it
//! releases, and its clock as `LW_x` if it writes.
//! **Verdict.** A race is observed in this run, except that one whose second access acquires something new is only
//! predicted: what it acquires may order the two here.
//! **Cost.** As `hb`, and a join for each read that sees a write of another thread for the first time. A write makes no
//! snapshot unless its thread learned something since its last publication.

mod recorded;
mod shared;

use overtake_clock::{Stamp, ThreadClock};
use overtake_trace::{IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

pub(crate) use recorded::start;
pub(crate) use shared::start as start_shared;

use super::by_clocks::synchronise_by_clocks;
use super::history::{Histories, Judged};
use super::sync::SyncClocks;
use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::race::Verdict;
use crate::visitor::Touch;

/// Reports every access that is the second of a schedulable race.
#[derive(Default, Debug)]
pub(crate) struct Schedulable {
    clocks: SyncClocks,
    histories: Histories<true>,
    last_writes: IdVec<VarId, Stamp>,
}

impl Schedulable {
    /// The clock of a thread.
    fn clock(&self, thread: ThreadId) -> &ThreadClock {
        self.clocks.thread(thread)
    }

    /// A read of a variable or of a heap block, judged before anything is learned.
    #[inline(always)]
    fn read(&mut self, var: VarId, access: Judged, races: &mut Findings) {
        let clock = self.clocks.thread(access.at.thread);
        self.histories.read(clock, clock.epoch(), var, access, races);
    }

    /// The thread now knows the last write of `var`. Returns whether it did not before.
    #[inline(always)]
    fn see(&mut self, thread: ThreadId, var: VarId) -> bool {
        let seen = self.last_writes[var];
        let learns = !self.clocks.thread(thread).covers(seen.epoch);
        if learns {
            self.clocks.learn(thread, seen);
        }
        learns
    }

    /// An access. Returns whether it sees a write that its thread did not know.
    #[inline(always)]
    fn judge(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) -> bool {
        let Touch { var, kind, order, block, .. } = touch;
        if let Some(order) = order {
            return self.atomic(at, touch, order, races);
        }
        let access = Judged { at, kind, verdict: Verdict::Observed };
        let clock = self.clocks.thread(at.thread);
        let sees = match kind.writes() {
            true => {
                self.histories.write(clock, clock.epoch(), var, access, races);
                kind == AccessKind::Free
            }
            false => !self.histories.read(clock, clock.epoch(), var, access, races),
        };
        if let Some(block) = block {
            self.read(block, Judged { kind: AccessKind::Read, ..access }, races);
        }
        let mut learned = sees && self.see(at.thread, var);
        if let Some(block) = block {
            learned |= self.see(at.thread, block);
        }
        if kind.writes() {
            self.clocks.publish_to(at.thread, &mut self.last_writes[var]);
        }
        learned
    }

    /// An access of a variable that another worker judges: only what it orders counts, by atomics and, if `sees`, by what it sees.
    fn follow(&mut self, at: At, touch: Touch<'_>, sees: bool) {
        let Touch { var, kind, order, block, .. } = touch;
        if let Some(order) = order {
            self.clocks.atomic_acquire(at.thread, var, kind, order);
        }
        for seen in [Some(var).filter(|_| kind.reads()), block].into_iter().flatten().filter(|_| sees) {
            self.see(at.thread, seen);
        }
        if let Some(order) = order {
            self.clocks.atomic_release(at.thread, var, kind, order);
        }
        if kind.writes() && sees {
            self.clocks.publish_to(at.thread, &mut self.last_writes[var]);
        }
    }

    #[inline(never)]
    fn atomic(&mut self, at: At, touch: Touch<'_>, order: MemoryOrder, races: &mut Findings) -> bool {
        let Touch { var, kind, block, .. } = touch;
        let acquires = self.clocks.would_acquire(at.thread, var, kind, order);
        let verdict = if acquires { Verdict::Predicted } else { Verdict::Observed };
        let clock = self.clocks.thread(at.thread);
        self.histories.atomic(clock, clock.epoch(), var, Judged { at, kind, verdict }, races);
        if let Some(block) = block {
            self.read(block, Judged { at, kind: AccessKind::Read, verdict }, races);
        }
        self.clocks.atomic_acquire(at.thread, var, kind, order);
        let mut learned = kind.reads() && self.see(at.thread, var);
        if let Some(block) = block {
            learned |= self.see(at.thread, block);
        }
        self.clocks.atomic_release(at.thread, var, kind, order);
        if kind.writes() {
            self.clocks.publish_to(at.thread, &mut self.last_writes[var]);
        }
        learned
    }
}

impl Detector for Schedulable {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.last_writes.grow_to(sizes.variables);
    }

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        self.judge(at, touch, races);
    }

    synchronise_by_clocks!();

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes() + self.histories.state_bytes() + self.last_writes.table_bytes()
    }
}

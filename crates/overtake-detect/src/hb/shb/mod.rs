//! Schedulable happens-before races: all of them can happen side by side.
//!
//! **Source.** Mathur, Kini and Viswanathan, *What Happens-After the First Race?*, OOPSLA 2018.
//! **Order.** Happens-before, and from each write (plain, atomic or free) to the reads that see it.
//! **Answer.** Exactly the accesses `e2` with an earlier conflicting access that is not before-or-at `prev(e2)`: neither the
//! write that `e2` reads nor what it acquires counts. Each such pair is a race of a correct reordering of the trace.
//! **State.** As for `hb`, and per variable `LW_x`, the clock of its last write, as a stamp of 12 bytes.
//! **Handlers.** An access is judged and recorded under the clock its thread has *before* it. What it learns (join `LW_x`,
//! join what is acquired) it learns when the next event begins, because the read of an element's heap block is part of the
//! same event and must be judged under the same clock. A plain write learns nothing: it publishes its clock as `LW_x` and
//! ticks at once, and the read of its heap block is recorded in the epoch before the tick.
//! **Verdict.** A race is observed in this run, except that one whose second access acquires something new is only
//! predicted: what it acquires may order the two here.
//! **Cost.** As `hb`, and a join for each read that sees a write of another thread for the first time. A write makes no
//! snapshot unless its thread learned something since its last publication.

use overtake_clock::{Epoch, Stamp};
use overtake_trace::{EventIndex, IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use super::history::{Histories, Judged};
use super::sync::SyncClocks;
use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::race::Verdict;

/// Reports every access that is the second of a schedulable race.
#[derive(Default, Debug)]
pub(crate) struct Schedulable {
    clocks: SyncClocks,
    histories: Histories<true>,
    last_writes: IdVec<VarId, Stamp>,
    due: Option<Due>,
    /// The latest plain write, with the epoch it was made in, to which the read of its heap block belongs.
    latest_write: Option<(EventIndex, Epoch)>,
}

/// What the latest event, a read or an atomic access, will do to the clocks.
#[derive(Clone, Copy, Debug)]
struct Due {
    index: EventIndex,
    thread: ThreadId,
    var: VarId,
    kind: AccessKind,
    order: MemoryOrder,
    verdict: Verdict,
    /// The heap block that the event reads as well.
    block: Option<VarId>,
}

impl Schedulable {
    /// Lets the latest access take effect.
    #[inline]
    fn settle(&mut self) {
        if let Some(due) = self.due.take() {
            self.take_effect(due);
        }
    }

    #[inline(never)]
    fn take_effect(&mut self, due: Due) {
        let Due { thread, var, kind, order, block, .. } = due;
        if kind.is_atomic() {
            self.clocks.atomic_acquire(thread, var, kind, order);
        }
        if kind.reads() {
            self.clocks.learn(thread, self.last_writes[var]);
        }
        if let Some(block) = block {
            self.clocks.learn(thread, self.last_writes[block]);
        }
        if kind.is_atomic() {
            self.clocks.atomic_release(thread, var, kind, order);
        }
        if kind.writes() {
            self.clocks.publish_to(thread, &mut self.last_writes[var]);
        }
    }

    /// The read of the heap block that the latest access lies in.
    #[cold]
    fn read_block(&mut self, at: At, block: VarId, due: Due, races: &mut Findings) {
        let clock = self.clocks.thread(at.thread);
        let access = Judged { at, kind: AccessKind::Read, verdict: due.verdict };
        self.histories.read(clock, clock.epoch(), block, access, races);
        self.due = Some(Due { block: Some(block), ..due });
    }
}

impl Detector for Schedulable {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.histories.reserve(sizes);
        self.last_writes.grow_to(sizes.variables);
    }

    #[inline(always)]
    fn read(&mut self, at: At, var: VarId, races: &mut Findings) {
        if let Some(due) = self.due {
            if due.index == at.index {
                return self.read_block(at, var, due, races);
            }
            self.settle();
        }
        let clock = self.clocks.thread(at.thread);
        let epoch = match self.latest_write {
            Some((index, epoch)) if index == at.index => epoch,
            _ => clock.epoch(),
        };
        let access = Judged { at, kind: AccessKind::Read, verdict: Verdict::Observed };
        let known = self.histories.read(clock, epoch, var, access, races);
        if !known && !clock.covers(self.last_writes[var].epoch) {
            self.due = Some(due(access, var, MemoryOrder::Relaxed));
        }
    }

    #[inline(always)]
    fn write(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut Findings) {
        self.settle();
        let clock = self.clocks.thread(at.thread);
        let epoch = clock.epoch();
        let access = Judged { at, kind, verdict: Verdict::Observed };
        self.histories.write(clock, epoch, var, access, races);
        self.latest_write = Some((at.index, epoch));
        self.clocks.publish_to(at.thread, &mut self.last_writes[var]);
    }

    fn atomic(&mut self, at: At, var: VarId, kind: AccessKind, order: MemoryOrder, races: &mut Findings) {
        self.settle();
        let acquires = self.clocks.would_acquire(at.thread, var, kind, order);
        let verdict = if acquires { Verdict::Predicted } else { Verdict::Observed };
        let clock = self.clocks.thread(at.thread);
        let access = Judged { at, kind, verdict };
        self.histories.atomic(clock, clock.epoch(), var, access, races);
        self.due = Some(due(access, var, order));
    }

    fn fence(&mut self, at: At, order: MemoryOrder, _: &mut Findings) {
        self.settle();
        self.clocks.fence(at.thread, order);
    }

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.settle();
        self.clocks.acquire(at.thread, lock, mode);
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.settle();
        self.clocks.release(at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.settle();
        self.clocks.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.settle();
        self.clocks.join(at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.settle();
        self.clocks.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.settle();
        self.clocks.wait(at.thread, object);
    }

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes() + self.histories.state_bytes() + self.last_writes.table_bytes()
    }
}

fn due(access: Judged, var: VarId, order: MemoryOrder) -> Due {
    let Judged { at, kind, verdict } = access;
    Due { index: at.index, thread: at.thread, var, kind, order, verdict, block: None }
}

//! The accesses of each variable, and the races among them.
//!
//! An event may touch a variable and the heap block it lies in. Both can order the event, so races are judged after both.
//!
//! **Invariant.**
//!   I1  The weak order and thread order together are a partial order. So when a plain write comes after all accesses that are
//!       known, it takes their place: an access that races with one of them races with the write, which conflicts with
//!       everything.

use overtake_clock::{Epoch, Time};
use overtake_trace::{LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};
use smallvec::SmallVec;

use super::clocks::Clocks;
use super::survey::{Census, Slot};
use crate::access::{Access, At, Class};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::race::{Race, Verdict};
use crate::visitor::Touch;

/// The latest access of a thread and class to a variable.
#[derive(Clone, Copy, Debug)]
struct Seen {
    access: Access,
    time: Time,
}

/// Finds the races of the weak order.
#[derive(Debug)]
pub(crate) struct WeakOrder {
    clocks: Clocks,
    census: Census,
    /// By slot.
    variables: Vec<SmallVec<[Seen; 1]>>,
    seen: usize,
    suspected: u64,
}

impl WeakOrder {
    /// A detector for a trace in which this matters.
    pub(super) fn new(mut census: Census) -> WeakOrder {
        WeakOrder {
            clocks: Clocks::new(census.slot_count, std::mem::take(&mut census.lives)),
            variables: vec![SmallVec::new(); census.slot_count],
            census,
            seen: 0,
            suspected: 0,
        }
    }

    fn judge(&mut self, access: Access, var: VarId, slot: Slot, findings: &mut Findings) {
        let Access { at, kind } = access;
        let class = Class::of(kind);
        let now = Seen { access, time: self.clocks.time(at.thread) };
        let place = slot.0 as usize;
        let mut own = None;
        let mut races = false;
        for known in 0..self.variables[place].len() {
            let Seen { access: first, time: then } = self.variables[place][known];
            if first.at.thread == at.thread {
                if Class::of(first.kind) == class {
                    own = Some(known);
                }
                continue;
            }
            let epoch = Epoch { thread: first.at.thread.0, time: then };
            if first.kind.conflicts(kind) && !self.clocks.is_weakly_before(epoch, at.thread) {
                races = true;
                self.report(first, epoch, access, var, findings);
            }
        }
        let seen = &mut self.variables[place];
        match own {
            _ if class == Class::PlainWrite && !races => {
                seen.clear(); // I1
                seen.push(now);
            }
            Some(place) => seen[place] = now,
            None => {
                seen.push(now);
                self.seen += 1;
            }
        }
    }

    /// An access that is atomic, or touches a heap block as well.
    fn access_to_each(&mut self, at: At, touch: Touch<'_>, findings: &mut Findings) {
        for (var, kind) in touch.each() {
            if let Some(slot) = self.census.slot(var) {
                self.clocks.access(at.thread, slot, kind);
            }
        }
        for (var, kind) in touch.each() {
            if let Some(slot) = self.census.slot(var) {
                self.judge(Access { at, kind }, var, slot, findings);
            }
        }
        if touch.kind.is_atomic()
            && let Some(slot) = self.census.slot(touch.var)
        {
            self.clocks.end_atomic(at.thread, slot, touch.kind);
        }
    }

    #[cold]
    fn report(&mut self, first: Access, epoch: Epoch, second: Access, var: VarId, findings: &mut Findings) {
        let is_observed = !self.clocks.happens_before(epoch, second.at.thread);
        let verdict = if is_observed { Verdict::Observed } else { Verdict::Suspected };
        self.suspected += u64::from(!is_observed);
        findings.report(Race { var, verdict, first, second });
    }
}

impl Detector for WeakOrder {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>, findings: &mut Findings) {
        if touch.block.is_some() || touch.kind.is_atomic() {
            self.access_to_each(at, touch, findings);
        } else if let Some(slot) = self.census.slot(touch.var) {
            self.clocks.access(at.thread, slot, touch.kind);
            self.judge(Access { at, kind: touch.kind }, touch.var, slot, findings);
        }
    }

    fn fence(&mut self, _: At, _: MemoryOrder, _: &mut Findings) {}

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        if self.census.is_shared(lock) {
            self.clocks.acquire(at.thread, lock, mode);
        }
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode, _: &mut Findings) {
        self.clocks.release(at, lock);
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.clocks.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.clocks.join(at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.clocks.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.clocks.wait(at.thread, object);
    }

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes()
            + self.census.state_bytes()
            + self.variables.capacity() * size_of::<SmallVec<[Seen; 1]>>()
            + self.seen * size_of::<Seen>()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("races that happens-before misses", self.suspected)]
    }
}

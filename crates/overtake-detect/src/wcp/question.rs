//! Which of some pairs of accesses the weak order orders: for questions about single pairs. Everything matters, and nothing is forgotten.

use overtake_clock::Epoch;
use overtake_trace::{EventIndex, IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use super::clocks::{Clocks, Noted};
use super::survey::Slot;
use crate::access::At;
use crate::detector::LockMode;
use crate::visitor::{Touch, Visitor};

/// A visitor that finds out which pairs are ordered.
pub(crate) struct Questions {
    clocks: Clocks,
    noted: IdVec<VarId, Noted>,
    pairs: Vec<Pair>,
}

struct Pair {
    first: EventIndex,
    second: EventIndex,
    /// The thread of the first one, and its time.
    begun: Option<Epoch>,
    is_ordered: bool,
}

impl Questions {
    /// Questions about pairs of accesses, each with the earlier one first.
    pub(crate) fn about(pairs: &[(EventIndex, EventIndex)]) -> Questions {
        let pair = |&(first, second)| Pair { first, second, begun: None, is_ordered: false };
        let pairs = pairs.iter().map(pair).collect();
        Questions { clocks: Clocks::without_sweeps(), noted: IdVec::new(), pairs }
    }

    /// For each pair, whether the first access comes weakly before the second.
    pub(crate) fn answers(&self) -> impl Iterator<Item = bool> {
        self.pairs.iter().map(|pair| pair.is_ordered)
    }

    /// Takes note of an access that has learned what comes weakly before it.
    fn note(&mut self, at: At) {
        let now = Epoch { thread: at.thread.0, time: self.clocks.time(at.thread) };
        for pair in &mut self.pairs {
            if at.index == pair.first {
                pair.begun = Some(now);
            }
            if at.index == pair.second {
                let is_ordered = |begun: Epoch| self.clocks.is_weakly_before(begun, at.thread);
                pair.is_ordered = pair.begun.is_some_and(is_ordered);
            }
        }
    }
}

impl Visitor for Questions {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.noted.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>) {
        for (var, kind) in touch.each() {
            self.clocks.access(at.thread, Slot(var.0), kind, &mut self.noted[var]);
        }
        self.note(at);
        if touch.kind.is_atomic() {
            self.clocks.end_atomic(at.thread, Slot(touch.var.0), touch.kind);
        }
    }

    fn fence(&mut self, _: At, _: MemoryOrder) {}

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.acquire(at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode) {
        self.clocks.release(at, lock);
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
}

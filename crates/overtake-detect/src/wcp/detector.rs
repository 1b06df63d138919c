//! The accesses of each variable, and the races among them.
//!
//! An event may touch a variable and the heap block it lies in. Both can order the event, so races are judged after both.

use overtake_clock::{Epoch, Time};
use overtake_trace::{IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use super::clocks::Clocks;
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
#[derive(Default, Debug)]
pub(crate) struct WeakOrder {
    clocks: Clocks,
    variables: IdVec<VarId, Vec<Seen>>,
    seen: usize,
    suspected: u64,
}

impl WeakOrder {
    fn judge(&mut self, access: Access, var: VarId, findings: &mut Findings) {
        let Access { at, kind } = access;
        let class = Class::of(kind);
        let time = self.clocks.time(at.thread);
        let mut own = None;
        for place in 0..self.variables[var].len() {
            let Seen { access: first, time: then } = self.variables[var][place];
            if first.at.thread == at.thread {
                if Class::of(first.kind) == class {
                    own = Some(place);
                }
                continue;
            }
            let epoch = Epoch { thread: first.at.thread.0, time: then };
            if first.kind.conflicts(kind) && !self.clocks.is_weakly_before(epoch, at.thread) {
                self.report(first, epoch, access, var, findings);
            }
        }
        match own {
            Some(place) => self.variables[var][place] = Seen { access, time },
            None => {
                self.variables[var].push(Seen { access, time });
                self.seen += 1;
            }
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
        self.variables.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>, findings: &mut Findings) {
        for (var, kind) in touch.each() {
            self.clocks.access(at.thread, var, kind);
        }
        for (var, kind) in touch.each() {
            self.judge(Access { at, kind }, var, findings);
        }
        if touch.kind.is_atomic() {
            self.clocks.end_atomic(at.thread, touch.var, touch.kind);
        }
    }

    fn fence(&mut self, _: At, _: MemoryOrder, _: &mut Findings) {}

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.clocks.acquire(at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode, _: &mut Findings) {
        self.clocks.release(at.thread, lock);
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
        self.clocks.state_bytes() + self.variables.table_bytes() + self.seen * size_of::<Seen>()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("races that happens-before misses", self.suspected)]
    }
}

//! Shared by the locking-discipline detectors: they look at accesses and at the locks held there. They ignore order, except that a judge may
//! use the order of fork and join.

use overtake_trace::{LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::locks::{HeldLocks, SetId};
use crate::visitor::Touch;

/// A judge of accesses by the locks held at them.
pub(crate) trait LockJudge {
    /// Makes room for this many threads and variables.
    fn grow_to(&mut self, threads: usize, variables: usize);

    /// An access, under what `held` says its thread holds.
    fn access(&mut self, held: &mut HeldLocks, at: At, var: VarId, kind: AccessKind, races: &mut Findings);

    /// Everything so far in the thread comes before what the child does.
    fn fork(&mut self, _thread: ThreadId, _child: ThreadId) {}

    /// Everything so far in the child comes before what the thread does.
    fn join(&mut self, _thread: ThreadId, _child: ThreadId) {}

    /// Forgets what can be found again, and calls `used` for each set that it still refers to.
    fn used_sets(&mut self, used: impl FnMut(SetId));

    /// Bytes of state.
    fn state_bytes(&self) -> usize;
}

/// The detector that a judge makes.
#[derive(Default, Debug)]
pub(crate) struct ByLocks<J> {
    held: HeldLocks,
    judge: J,
}

impl<J: LockJudge> ByLocks<J> {
    #[cold]
    fn collect(&mut self) {
        let mut used = Vec::new();
        self.judge.used_sets(|set| used.push(set));
        self.held.collect(used.into_iter());
    }
}

impl<J: LockJudge> Detector for ByLocks<J> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.held.grow_to(sizes.threads);
        self.judge.grow_to(sizes.threads, sizes.variables);
    }

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        self.judge.access(&mut self.held, at, touch.var, touch.kind, races);
        if let Some(block) = touch.block {
            self.judge.access(&mut self.held, at, block, AccessKind::Read, races);
        }
    }

    fn fence(&mut self, _at: At, _order: MemoryOrder, _: &mut Findings) {}

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.held.acquire(at.thread, lock, mode);
        if self.held.wants_collection() {
            self.collect();
        }
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.held.release(at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.judge.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.judge.join(at.thread, child);
    }

    fn post(&mut self, _at: At, _object: SyncId, _: &mut Findings) {}

    fn wait(&mut self, _at: At, _object: SyncId, _: &mut Findings) {}

    fn state_bytes(&self) -> usize {
        self.held.state_bytes() + self.judge.state_bytes()
    }
}

//! What looks at a trace event by event: a [`Visitor`], called by the loop in `run.rs`.
//!
//! A detector is a visitor with somewhere to report to ([`Reporting`]). What only collects facts (a survey before the
//! detector's own pass, the tracker that chooses the events of a witness) is a visitor and nothing else.

use overtake_rules::LockMode;
use overtake_trace::{LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId, Variables};

use crate::access::{AccessKind, At};
use crate::detector::Detector;
use crate::findings::Findings;

/// What an access touches, and how.
#[derive(Clone, Copy, Debug)]
pub struct Touch<'a> {
    /// The variable.
    pub var: VarId,
    /// What the access does with it.
    pub kind: AccessKind,
    /// The memory order of an atomic access; none of a plain one.
    pub order: Option<MemoryOrder>,
    /// The variable of the allocated heap block that `var` lies in. The access reads it as well, and `alloc` and
    /// `free` write it: so they conflict with every access to the block, and accesses do not conflict with each other by it.
    pub block: Option<VarId>,
    /// What variables stand for.
    pub variables: &'a Variables,
}

impl Touch<'_> {
    /// The variable of the heap block that must have been allocated before this access, if it lies in one: that of a `free`, too.
    #[inline]
    pub fn block_in_use(self) -> Option<VarId> {
        if self.kind == AccessKind::Free { Some(self.var) } else { self.block }
    }

    /// What the access touches that is so many later in a sweep.
    #[inline]
    pub fn further(self, number: u32) -> Self {
        Touch { var: VarId(self.var.0 + number), ..self }
    }

    /// The variables that are touched, each with what happens to it: the variable itself, then its heap block.
    #[inline]
    pub fn each(self) -> impl Iterator<Item = (VarId, AccessKind)> {
        [Some((self.var, self.kind)), self.block.map(|block| (block, AccessKind::Read))].into_iter().flatten()
    }
}

/// Handlers for the events of a checked trace, called in trace order. Those that are left out do nothing.
///
/// A visitor never sees ill-formed events (see `overtake_trace`'s checker for what it may rely on). Every id is below the
/// sizes of the last [`reserve`](Self::reserve).
pub trait Visitor {
    /// Whether it wants to see plain accesses, which most events are.
    const SEES_PLAIN_ACCESSES: bool = true;

    /// Whether it wants sweeps whole. If not, the loop does not even look for them.
    const TAKES_SWEEPS: bool = false;

    /// Called before events with new ids: tables must reach `sizes`.
    fn reserve(&mut self, sizes: &Sizes) {
        let _ = sizes;
    }

    /// An access: a read or a write, plain or atomic, or the `alloc` or `free` of a block.
    fn access(&mut self, at: At, touch: Touch<'_>) {
        let _ = (at, touch);
    }

    /// A sweep: `count` plain accesses that follow each other, by one thread at one location, to variables with consecutive numbers that
    /// all lie in the same heap block, or in none. `at` and `touch` are those of the first one. It means what its accesses mean one by one.
    #[inline]
    fn sweep(&mut self, at: At, touch: Touch<'_>, count: u32) {
        for number in 0..count {
            self.access(at.later(number), touch.further(number));
        }
    }

    /// A memory fence.
    fn fence(&mut self, at: At, order: MemoryOrder) {
        let _ = (at, order);
    }

    /// The acquire that comes next is a try: it would not have waited.
    #[inline]
    fn tries(&mut self, at: At) {
        let _ = at;
    }

    /// A lock is taken.
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        let _ = (at, lock, mode);
    }

    /// A lock is given back.
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        let _ = (at, lock, mode);
    }

    /// Everything so far in this thread comes before the child's next event.
    fn fork(&mut self, at: At, child: ThreadId) {
        let _ = (at, child);
    }

    /// Everything so far in the child comes before this thread's next event.
    fn join(&mut self, at: At, child: ThreadId) {
        let _ = (at, child);
    }

    /// A synchronisation object is signalled.
    fn post(&mut self, at: At, object: SyncId) {
        let _ = (at, object);
    }

    /// Everything before any earlier post of `object` comes before this thread's next event.
    fn wait(&mut self, at: At, object: SyncId) {
        let _ = (at, object);
    }

    /// A thread is about to take a lock, for which it may have to wait. Nothing is ordered by it.
    #[inline]
    fn request(&mut self, at: At, lock: LockId) {
        let _ = lock;
        self.other(at);
    }

    /// An event without ordering meaning (`begin`, `end`, `request`, `branch`, a dropped event). It still
    /// counts as an event of the trace, which matters where distances do.
    #[inline]
    fn other(&mut self, at: At) {
        let _ = at;
    }
}

/// A detector with the log that it reports to.
pub(crate) struct Reporting<'a, D> {
    pub(crate) detector: &'a mut D,
    pub(crate) findings: &'a mut Findings,
}

impl<D: Detector> Visitor for Reporting<'_, D> {
    const TAKES_SWEEPS: bool = D::TAKES_SWEEPS;

    fn reserve(&mut self, sizes: &Sizes) {
        self.detector.reserve(sizes);
    }

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        self.detector.access(at, touch, self.findings);
    }

    #[inline]
    fn sweep(&mut self, at: At, touch: Touch<'_>, count: u32) {
        self.detector.sweep(at, touch, count, self.findings);
    }

    #[inline(always)]
    fn fence(&mut self, at: At, order: MemoryOrder) {
        self.detector.fence(at, order, self.findings);
    }

    #[inline(always)]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.detector.acquire(at, lock, mode, self.findings);
    }

    #[inline(always)]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.detector.release(at, lock, mode, self.findings);
    }

    #[inline(always)]
    fn fork(&mut self, at: At, child: ThreadId) {
        self.detector.fork(at, child, self.findings);
    }

    #[inline(always)]
    fn join(&mut self, at: At, child: ThreadId) {
        self.detector.join(at, child, self.findings);
    }

    #[inline(always)]
    fn post(&mut self, at: At, object: SyncId) {
        self.detector.post(at, object, self.findings);
    }

    #[inline(always)]
    fn wait(&mut self, at: At, object: SyncId) {
        self.detector.wait(at, object, self.findings);
    }

    #[inline(always)]
    fn other(&mut self, at: At) {
        self.detector.other(at, self.findings);
    }
}

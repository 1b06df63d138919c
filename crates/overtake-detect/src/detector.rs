//! What a detector is: handlers for events, called by the loop in `run.rs`.

use std::ops::Range;

pub use overtake_rules::LockMode;
use overtake_trace::{LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use crate::access::At;
use crate::findings::Findings;
use crate::visitor::Touch;

/// Handlers for the events of a checked trace, called in trace order.
///
/// Every handler may report to `findings`: an access the race that it is in, an acquire the deadlock that it completes.
/// A detector never sees ill-formed events (see `overtake_trace`'s checker for what it may rely on), never does I/O and
/// never fails. Every id is below the sizes of the last [`reserve`](Self::reserve).
pub trait Detector {
    /// Whether it wants sweeps whole, as in [`Visitor`](crate::visitor::Visitor).
    const TAKES_SWEEPS: bool = false;

    /// Called before events with new ids: tables must reach `sizes`.
    fn reserve(&mut self, sizes: &Sizes);

    /// An access: a read or a write, plain or atomic, or the `alloc` or `free` of a block. One event is one call; `touch` says
    /// whether it also reads the heap block that its variable lies in.
    fn access(&mut self, at: At, touch: Touch<'_>, findings: &mut Findings);

    /// A sweep of plain accesses, as in [`Visitor`](crate::visitor::Visitor): it means what its accesses mean one by one.
    #[inline]
    fn sweep(&mut self, at: At, touch: Touch<'_>, count: u32, findings: &mut Findings) {
        for number in 0..count {
            self.access(at.later(number), touch.further(number), findings);
        }
    }

    /// A memory fence.
    fn fence(&mut self, at: At, order: MemoryOrder, findings: &mut Findings);

    /// A lock is taken.
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, findings: &mut Findings);

    /// A lock is given back.
    fn release(&mut self, at: At, lock: LockId, mode: LockMode, findings: &mut Findings);

    /// Everything so far in this thread comes before the child's next event.
    fn fork(&mut self, at: At, child: ThreadId, findings: &mut Findings);

    /// Everything so far in the child comes before this thread's next event.
    fn join(&mut self, at: At, child: ThreadId, findings: &mut Findings);

    /// A synchronisation object is signalled.
    fn post(&mut self, at: At, object: SyncId, findings: &mut Findings);

    /// Everything before any earlier post of `object` comes before this thread's next event.
    fn wait(&mut self, at: At, object: SyncId, findings: &mut Findings);

    /// An event without ordering meaning (`begin`, `end`, `request`, `branch`, a dropped event). It still
    /// counts as an event of the trace, which matters where distances do.
    #[inline]
    fn other(&mut self, at: At, findings: &mut Findings) {
        let _ = (at, findings);
    }

    /// No further event names these variables: what is kept of them may be forgotten.
    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        let _ = ended;
    }

    /// The trace is over.
    fn finish(&mut self, findings: &mut Findings) {
        let _ = findings;
    }

    /// Bytes of state held now. Called once per block.
    fn state_bytes(&self) -> usize;

    /// Figures of the detector's own, for people.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

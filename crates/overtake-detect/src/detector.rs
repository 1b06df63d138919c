//! What a detector is: handlers for events, called by the loop in `run.rs`.

pub use overtake_rules::LockMode;
use overtake_trace::{LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId, Variables};

use crate::access::{AccessKind, At};
use crate::findings::Findings;

/// Handlers for the events of a checked trace, called in trace order.
///
/// Every handler may report to `findings`: an access the race that it is in, an acquire the deadlock that it completes.
/// A detector never sees ill-formed events (see `overtake_trace`'s checker for what it may rely on), never does I/O and
/// never fails. Every id is below the sizes of the last [`reserve`](Self::reserve).
pub trait Detector {
    /// Called before events with new ids: tables must reach `sizes`.
    fn reserve(&mut self, sizes: &Sizes);

    /// Called before each `read`, `write` and `atomic`, for detectors that treat the elements of an array together: `var`
    /// is what will be accessed, `variables` says what it stands for.
    #[inline(always)]
    fn locate(&mut self, thread: ThreadId, var: VarId, kind: AccessKind, variables: &Variables) {
        let _ = (thread, var, kind, variables);
    }

    /// A plain read.
    fn read(&mut self, at: At, var: VarId, findings: &mut Findings);

    /// A plain write, or the `free` of a block (`kind` says which).
    fn write(&mut self, at: At, var: VarId, kind: AccessKind, findings: &mut Findings);

    /// Whether [`plain`](Self::plain) does the same for reads and writes. Which of them comes next is not predictable, so
    /// that telling them apart by a jump costs more than an access.
    const PLAIN_ALIKE: bool = false;

    /// A plain read or write; `kind` says which.
    #[inline(always)]
    fn plain(&mut self, at: At, var: VarId, kind: AccessKind, findings: &mut Findings) {
        match kind {
            AccessKind::Read => self.read(at, var, findings),
            _ => self.write(at, var, kind, findings),
        }
    }

    /// An atomic load, store or read-modify-write.
    fn atomic(&mut self, at: At, var: VarId, kind: AccessKind, order: MemoryOrder, findings: &mut Findings);

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

    /// An event without ordering meaning (`begin`, `end`, `request`, `branch`, `alloc`, a dropped event). It still
    /// counts as an event of the trace, which matters where distances do.
    #[inline]
    fn other(&mut self, at: At, findings: &mut Findings) {
        let _ = (at, findings);
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

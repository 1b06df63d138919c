//! What a variable remembers of its accesses: enough to judge every later one.
//!
//! **State.** Per variable the latest plain write and one plain read, inline; when that is not enough (unordered reads,
//! unordered writes, atomic accesses), all but the latest write are in a spill, which most variables never need.
//! **Domination.** An access `a` need not be kept once there is an access `b` with `a` ordered before `b` (or both in one
//! epoch of one thread) and everything that conflicts with `a` conflicting with `b`: if `a` is not ordered before a later
//! access, neither is `b`. A plain write dominates everything, a plain read dominates reads and loads, an atomic write
//! dominates atomic accesses, a load dominates loads.
//! **Invariants.**
//!   I1  Every earlier access is kept or dominated by a kept one. (`EVERY_RACE` only; otherwise until the variable's
//!       first race, and what is kept afterwards are still real accesses.)
//!   I2  Without a spill the inline write and read are all that is kept; with one, the inline write and the spill.
//!   I3  The spill keeps at most one read, one write, one load and one atomic write per thread.
//!   I4  What dominates a kept access takes its place, also one of the same epoch. So a race names the latest access that
//!       the second one races with. (`EVERY_RACE`; otherwise [`plain`](Histories::plain) does so for plain accesses, and
//!       [`read`](Histories::read), [`write`](Histories::write) and [`take_ordered`](Histories::take_ordered), which ignore
//!       repetitions, keep the first of each epoch.)
//! **Differs from FastTrack** (Flanagan and Freund, PLDI 2009). The reads of a shared variable are records sorted by
//! thread, not a clock: they name the access to report, and are as many as there are readers, not as there are threads.
//! **Cost.** O(1) for a variable without a spill; else O(log readers) for a read and O(readers) for
//! a write, which pays for the reads it removes.
//!
//! | file | holds |
//! | --- | --- |
//! | `store.rs` | tables, spills, records |
//! | `policy.rs` | what is kept of an access, and which race it makes |
//! | `copying.rs` | cells that take over, share or compare histories |

mod copying;
mod policy;
mod store;

use overtake_trace::VarId;

use crate::access::{Access, AccessKind, At};
use crate::findings::Findings;
use crate::race::{Race, Verdict};

pub(crate) use store::Histories;

/// The access being judged, and what a race with it would be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) at: At,
    pub(crate) kind: AccessKind,
    pub(crate) verdict: Verdict,
}

impl Judged {
    /// An access whose races happened.
    #[inline]
    pub(crate) fn observed(Access { at, kind }: Access) -> Judged {
        Judged { at, kind, verdict: Verdict::Observed }
    }
}

/// Where races between the accesses of one cell go.
pub(crate) trait RaceSink<Cell> {
    /// Takes a race between an access that the cell's history kept and the one being judged.
    fn race(&mut self, cell: Cell, verdict: Verdict, first: Access, second: Access);
}

impl RaceSink<VarId> for Findings {
    fn race(&mut self, var: VarId, verdict: Verdict, first: Access, second: Access) {
        self.report(Race { var, verdict, first, second });
    }
}

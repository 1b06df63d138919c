//! Detectors that judge a stretch of a trace without what comes before it.
//!
//! Two events of a stretch are ordered by what lies between them, so what comes before the stretch need not be known to judge them. Whoever
//! judged the stretch before goes on into this one until nothing in it can race with what came before: until every thread that will still
//! do something knows all accesses that were kept at the border ([`Stretched::settle`]). Up to there his word counts, then that of whoever
//! judged this stretch from its start.

use overtake_clock::Time;
use overtake_trace::{Checked, EventIndex, Id, Symbols, ThreadId, VarId};

use crate::findings::Findings;
use crate::hb::SyncClocks;

/// A thread that will do something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acting {
    /// The thread.
    pub thread: ThreadId,
    /// What it does first is to wait for the end of this other thread.
    pub joins: Option<ThreadId>,
}

/// Starts a detector on a stretch: the first one, or another. In others all blocks of memory count as allocated: accesses to those that are not conflict
/// with nothing before the allocation.
pub type StartStretched = fn(&Symbols, bool) -> Box<dyn Stretched>;

/// A detector at work on a stretch.
pub trait Stretched {
    /// Takes the next checked block. Returns false if a block of memory is allocated in it whose elements were accessed before: whether such accesses are
    /// accesses to the block depends on what comes before the stretch.
    fn feed(&mut self, checked: &Checked<'_>, findings: &mut Findings) -> bool;

    /// The stretch ends here: what is kept of its accesses has to become known to all threads.
    fn end_stretch(&mut self);

    /// The threads that do something from here on are given. Drops accesses that all of them know. Returns whether none are left.
    fn settle(&mut self, acting: &[Acting]) -> bool;

    /// The variables of accesses that are left; none if they are more than `most`.
    fn unsettled(&self, most: usize) -> Option<Vec<VarId>>;

    /// Whether a variable may have been accessed at `since` or later.
    fn may_use(&self, var: VarId, since: EventIndex) -> bool;

    /// Bytes of state.
    fn state_bytes(&self) -> usize;
}

/// The least that all acting threads but itself know of each thread, by thread.
pub(crate) fn known_to_all(clocks: &SyncClocks, acting: &[Acting]) -> Vec<Time> {
    let known = |by: &Acting, of: u32| {
        let clock_of = |thread| clocks.thread(thread).get(of);
        clock_of(by.thread).max(by.joins.map_or(0, clock_of))
    };
    let by_all = |of: u32| {
        let others = acting.iter().filter(|acting| acting.thread.0 != of);
        others.map(|acting| known(acting, of)).min().unwrap_or(Time::MAX)
    };
    (0..clocks.thread_count()).map(|thread| by_all(ThreadId::from_index(thread).0)).collect()
}

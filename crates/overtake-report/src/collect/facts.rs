//! What happened around the accesses of findings.

use overtake_detect::witness::Step;
use overtake_trace::{EventIndex, LockId, MemoryOrder, SyncId, VarId};

/// An event with the number of events of its thread before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    pub(super) step: Step,
    pub(super) ordinal: u64,
}

/// A lock that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub(super) lock: LockId,
    pub(super) shared: bool,
    /// None while it is being looked for.
    pub(super) acquire: Option<Placed>,
}

/// What is around one access.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Scene {
    pub(super) access: Option<Placed>,
    pub(super) held: Vec<Held>,
    /// The last synchronisation events of its thread before it, and the next ones after it.
    pub(super) before: Vec<Placed>,
    pub(super) after: Vec<Placed>,
}

/// The latest section of a lock in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockUse {
    pub(super) lock: LockId,
    pub(super) acquire: Placed,
    pub(super) release: Option<EventIndex>,
}

/// The latest atomic access of a thread to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AtomicUse {
    pub(super) var: VarId,
    pub(super) order: MemoryOrder,
    pub(super) access: Placed,
}

/// What two threads have in common up to the later access; the earlier access' thread first.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Common {
    pub(super) locks: Vec<[LockUse; 2]>,
    pub(super) atomics: Vec<[AtomicUse; 2]>,
    pub(super) objects: Vec<SyncId>,
}

/// Everything about one finding. Of two accesses the one that comes earlier in the run is first, unless [`oriented`](Facts::oriented)
/// exchanged them.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct Facts {
    pub(super) scenes: [Scene; 2],
    pub(super) common: Common,
    /// The forks of the two threads.
    pub(super) forks: [Option<Placed>; 2],
    /// Where one of the two waits for the end of the other: `[0]` is the join of the first thread by the other.
    pub(super) joins: [Option<Placed>; 2],
}

impl Facts {
    /// The same, with the two accesses exchanged or not.
    pub(super) fn oriented(&self, swapped: bool) -> Facts {
        let mut facts = self.clone();
        if swapped {
            facts.scenes.reverse();
            facts.forks.reverse();
            facts.joins.reverse();
            facts.common.locks.iter_mut().for_each(|pair| pair.reverse());
            facts.common.atomics.iter_mut().for_each(|pair| pair.reverse());
        }
        facts
    }
}

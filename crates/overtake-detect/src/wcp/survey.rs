//! The pass before the detector's: what can order or race at all, and how long threads live.
//!
//! A variable matters if two threads access it and one of the accesses writes: no other conflicts with anything. A lock matters if two threads
//! use it. That leaves the weak order between other accesses as it is: its rules ask for conflicts and for sections of two threads.

use overtake_trace::{EventIndex, IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use crate::access::At;
use crate::detector::LockMode;
use crate::syncp;
use crate::visitor::{Touch, Visitor};

/// Who uses a variable or a lock.
#[derive(Clone, Copy, Default, Debug)]
struct Use {
    /// The thread that used it last, plus one.
    last: u32,
    is_shared: bool,
    is_written: bool,
}

impl Use {
    #[inline]
    fn note(&mut self, thread: ThreadId, writes: bool) {
        self.is_shared |= self.last != 0 && self.last != thread.0 + 1;
        self.is_written |= writes;
        self.last = thread.0 + 1;
    }
}

/// When a thread is heard of.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Life {
    /// Its last event.
    pub(super) last_event: Option<EventIndex>,
    /// The last event that needs to know what it knew: its own, or one that joins it.
    pub(super) last_mention: Option<EventIndex>,
    /// Who forks it, if that comes before its first event.
    pub(super) starter: Option<ThreadId>,
}

/// Collects who uses what.
#[derive(Default, Debug)]
pub(super) struct Survey {
    variables: IdVec<VarId, Use>,
    locks: IdVec<LockId, Use>,
    lives: IdVec<ThreadId, Life>,
}

/// The number of a variable that matters, among these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Slot(pub(super) u32);

/// What matters.
#[derive(Default, Debug)]
pub(super) struct Census {
    /// By variable, its number among those that matter plus one; 0 if it does not.
    slots: IdVec<VarId, u32>,
    /// How many variables matter.
    pub(super) slot_count: usize,
    locks: IdVec<LockId, Use>,
    pub(super) lives: IdVec<ThreadId, Life>,
}

impl Survey {
    pub(super) fn into_census(self) -> Census {
        let mut census = Census { locks: self.locks, lives: self.lives, ..Census::default() };
        for used in self.variables.iter() {
            let matters = used.is_shared && used.is_written;
            census.slot_count += usize::from(matters);
            census.slots.push(if matters { census.slot_count as u32 } else { 0 });
        }
        census
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.variables.table_bytes() + self.locks.table_bytes() + self.lives.table_bytes()
    }

    #[inline]
    fn note_event(&mut self, at: At) {
        let life = &mut self.lives[at.thread];
        (life.last_event, life.last_mention) = (Some(at.index), Some(at.index));
    }
}

impl Census {
    /// The number of a variable, if it matters.
    #[inline]
    pub(super) fn slot(&self, var: VarId) -> Option<Slot> {
        self.slots.get(var).and_then(|&slot| slot.checked_sub(1)).map(Slot)
    }

    /// Whether two threads use a lock.
    #[inline]
    pub(super) fn is_shared(&self, lock: LockId) -> bool {
        self.locks.get(lock).is_some_and(|used| used.is_shared)
    }

    /// The same for a search for schedules: what no two threads use matters for no schedule either.
    pub(super) fn for_schedules(&self) -> syncp::Census {
        let variables = self.slots.enumerate().filter(|(_, slot)| **slot != 0).map(|(var, _)| var);
        let locks = self.locks.enumerate().filter(|(_, used)| used.is_shared).map(|(lock, _)| lock);
        syncp::Census::of(variables, locks)
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.slots.table_bytes() + self.locks.table_bytes()
    }
}

impl Visitor for Survey {
    fn reserve(&mut self, sizes: &Sizes) {
        self.variables.grow_to(sizes.variables);
        self.locks.grow_to(sizes.locks);
        self.lives.grow_to(sizes.threads);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        self.note_event(at);
        for (var, kind) in touch.each() {
            self.variables[var].note(at.thread, kind.writes());
        }
    }

    fn acquire(&mut self, at: At, lock: LockId, _: LockMode) {
        self.note_event(at);
        self.locks[lock].note(at.thread, true);
    }

    fn release(&mut self, at: At, _: LockId, _: LockMode) {
        self.note_event(at);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.note_event(at);
        let life = &mut self.lives[child];
        if life.last_event.is_none() && life.starter.is_none() {
            life.starter = Some(at.thread);
        }
        life.last_mention = Some(at.index);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.note_event(at);
        self.lives[child].last_mention = Some(at.index);
    }

    fn post(&mut self, at: At, _: SyncId) {
        self.note_event(at);
    }

    fn wait(&mut self, at: At, _: SyncId) {
        self.note_event(at);
    }

    fn fence(&mut self, at: At, _: MemoryOrder) {
        self.note_event(at);
    }
}

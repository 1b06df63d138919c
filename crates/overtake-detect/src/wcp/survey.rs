//! The pass before the detector's: what can order or race at all.
//!
//! A variable matters if two threads access it and one of the accesses writes: no other conflicts with anything. A lock matters if two threads
//! use it. That leaves the weak order between other accesses as it is: its rules ask for conflicts and for sections of two threads.

use overtake_trace::{IdVec, LockId, Sizes, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::access::At;
use crate::detector::LockMode;
use crate::visitor::{Touch, Visitor};

/// What is known of a variable.
#[derive(Clone, Copy, Default, Debug)]
struct Use {
    /// The first thread that accessed it, plus one.
    first: u32,
    is_shared: bool,
    is_written: bool,
}

/// Collects who uses what.
#[derive(Default, Debug)]
pub(super) struct Survey {
    variables: IdVec<VarId, Use>,
    locks: usize,
    /// How many sections of each mode a thread has on a lock.
    sections: FxHashMap<(LockId, ThreadId), [u32; 2]>,
}

/// The number of a variable that matters, among these.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Slot(pub(super) u32);

/// A thread that uses a lock, with the number of sections of each mode that it has yet to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct User {
    pub(super) thread: ThreadId,
    pub(super) left: [u32; 2],
}

/// What matters.
#[derive(Default, Debug)]
pub(super) struct Census {
    /// By variable, its number among those that matter plus one; 0 if it does not.
    slots: IdVec<VarId, u32>,
    /// How many variables matter.
    pub(super) slot_count: usize,
    /// By lock, its users in the order of threads.
    pub(super) users: IdVec<LockId, Vec<User>>,
}

impl Survey {
    pub(super) fn into_census(self) -> Census {
        let mut census = Census::default();
        for used in self.variables.iter() {
            let matters = used.is_shared && used.is_written;
            census.slot_count += usize::from(matters);
            census.slots.push(if matters { census.slot_count as u32 } else { 0 });
        }
        census.users.grow_to(self.locks);
        for ((lock, thread), left) in self.sections {
            census.users[lock].push(User { thread, left });
        }
        census.users.iter_mut().for_each(|users| users.sort_unstable_by_key(|user| user.thread));
        census
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.variables.table_bytes() + self.sections.capacity() * size_of::<(LockId, ThreadId, [u32; 2])>()
    }
}

impl Census {
    /// The number of a variable, if it matters.
    #[inline]
    pub(super) fn slot(&self, var: VarId) -> Option<Slot> {
        self.slots.get(var).and_then(|&slot| slot.checked_sub(1)).map(Slot)
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.slots.table_bytes()
    }
}

impl Visitor for Survey {
    fn reserve(&mut self, sizes: &Sizes) {
        self.variables.grow_to(sizes.variables);
        self.locks = sizes.locks;
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        for (var, kind) in touch.each() {
            let used = &mut self.variables[var];
            used.is_shared |= used.first != 0 && used.first != at.thread.0 + 1;
            used.is_written |= kind.writes();
            used.first = at.thread.0 + 1;
        }
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.sections.entry((lock, at.thread)).or_default()[mode as usize] += 1;
    }
}

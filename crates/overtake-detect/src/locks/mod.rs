//! Sets of locks under small numbers, and which set each thread holds.
//!
//! Programs hold few different sets of locks, again and again. Each set is stored once and named by a [`SetId`]; what a
//! thread holds changes only when it acquires or releases, and adding, removing, intersecting and comparing are
//! remembered by pair of names. So an access costs a comparison of two numbers, mostly.
//!
//! [`overtake_rules::Holders`] says which threads hold a lock. Detectors do not use it: they see checked traces, where nothing is held twice or
//! given back by another thread, and at every access they need all locks of a thread, which a list of holders for each lock
//! cannot give quickly. A test compares the two.
//!
//! A lock held at two accesses, by at least one of them exclusively, keeps them apart in every correct reordering:
//! locking disciplines ask for nothing else, and predictors ask it before they look closer at a pair.
//!
//! **Memory.** The remembered results are in caches of bounded size that forget ([`pairs`]). Sets that nothing refers
//! to any more are dropped when they are many ([`HeldLocks::collect`]): a thread that takes a thousand locks one by one
//! makes a thousand sets, of which it mostly needs the last.

pub(crate) mod pairs;
mod sets;
#[cfg(test)]
mod tests;

use overtake_trace::{IdVec, LockId, ThreadId};

use crate::detector::LockMode;

pub(crate) use sets::{LockSets, SetId};

/// What a thread holds: all locks, and those it holds exclusively.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Held {
    pub(crate) all: SetId,
    pub(crate) exclusive: SetId,
}

impl Held {
    /// The locks that protect an access: for a read any it holds, for a write those held exclusively.
    #[inline]
    pub(crate) fn protecting(self, writes: bool) -> SetId {
        if writes { self.exclusive } else { self.all }
    }
}

impl LockSets {
    /// What is held after a lock is taken.
    #[inline]
    pub(crate) fn acquired(&mut self, held: Held, lock: LockId, mode: LockMode) -> Held {
        self.changed(held, mode, |sets, set| sets.with(set, lock))
    }

    /// What is held after a lock is given back. One that was held since before the trace is in no set, which changes
    /// nothing.
    #[inline]
    pub(crate) fn released(&mut self, held: Held, lock: LockId, mode: LockMode) -> Held {
        self.changed(held, mode, |sets, set| sets.without(set, lock))
    }

    #[inline]
    fn changed(
        &mut self,
        Held { all, exclusive }: Held,
        mode: LockMode,
        change: impl Fn(&mut LockSets, SetId) -> SetId,
    ) -> Held {
        let changed = change(self, all);
        let exclusive = match mode {
            LockMode::Shared => exclusive,
            LockMode::Exclusive if exclusive == all => changed,
            LockMode::Exclusive => change(self, exclusive),
        };
        Held { all: changed, exclusive }
    }

    /// Whether some lock is held at both accesses, by one of them exclusively.
    #[inline]
    pub(crate) fn have_common_lock(&mut self, first: Held, second: Held) -> bool {
        !self.are_disjoint(first.exclusive, second.all)
            || (first != second && !self.are_disjoint(first.all, second.exclusive))
    }

    /// What is held at both accesses; a lock that one of them holds shared, shared.
    pub(crate) fn held_at_both(&mut self, first: Held, second: Held) -> Held {
        Held {
            all: self.intersect(first.all, second.all),
            exclusive: self.intersect(first.exclusive, second.exclusive),
        }
    }

    /// Whether an access under `more` holds each lock that one under `less` holds, in that mode.
    #[inline]
    pub(crate) fn holds_all_of(&mut self, more: Held, less: Held) -> bool {
        let none_is_shared = (less.all == less.exclusive) & (more.all == more.exclusive);
        less == more
            || (self.is_subset(less.all, more.all)
                && (none_is_shared || self.is_subset(less.exclusive, more.exclusive)))
    }
}

/// What every thread holds.
#[derive(Default, Debug)]
pub(crate) struct HeldLocks {
    pub(crate) sets: LockSets,
    threads: IdVec<ThreadId, Held>,
}

impl HeldLocks {
    /// Makes room for `threads` threads.
    pub(crate) fn grow_to(&mut self, threads: usize) {
        self.threads.grow_to(threads);
    }

    /// What `thread` holds.
    #[inline]
    pub(crate) fn of(&self, thread: ThreadId) -> Held {
        self.threads[thread]
    }

    /// A lock is taken.
    #[inline]
    pub(crate) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let held = &mut self.threads[thread];
        *held = self.sets.acquired(*held, lock, mode);
    }

    /// A lock is given back.
    #[inline]
    pub(crate) fn release(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let held = &mut self.threads[thread];
        *held = self.sets.released(*held, lock, mode);
    }

    /// Whether sets that nothing refers to should be dropped.
    #[inline]
    pub(crate) fn wants_collection(&self) -> bool {
        self.sets.wants_collection()
    }

    /// Drops every set that is neither in `used` nor held by a thread.
    #[cold]
    pub(crate) fn collect(&mut self, used: impl Iterator<Item = SetId>) {
        let held = self.threads.iter().flat_map(|held| [held.all, held.exclusive]);
        self.sets.collect(held.chain(used));
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.sets.state_bytes() + self.threads.table_bytes()
    }
}

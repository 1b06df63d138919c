//! One number for each access that names the locks held, and whether two such sets share a lock that keeps the accesses apart.
//!
//! A lock held at both accesses, by at least one of them exclusively, keeps them apart in every correct reordering; in a
//! sync-preserving one this shows as the first access being in the closure, and it stays there for every later access of
//! the second thread. So the answer here settles most pairs without a closure.
//!
//! The sets themselves are those of [`locks`](crate::locks). There are many accesses, so each has room for one number only, which
//! stands for the locks and their modes.

use overtake_trace::{IdVec, LockId, ThreadId};
use rustc_hash::FxHashMap;

use crate::detector::LockMode;
use crate::locks::pairs::{Pair, PairCache};
use crate::locks::{Held, LockSets};

/// What a thread holds, by number; or a meet: what all threads of several accesses hold.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct HeldId(u32);

impl HeldId {
    /// No lock.
    pub(super) const NOTHING: HeldId = HeldId(0);
}

impl Default for HeldId {
    fn default() -> Self {
        HeldId::NOTHING
    }
}

/// What is behind a number, and the signatures of its sets, which mostly are enough.
#[derive(Clone, Copy, Default, Debug)]
struct Numbered {
    held: Held,
    all: u64,
    exclusive: u64,
}

/// What each thread holds, and all that was ever held.
#[derive(Debug)]
pub(super) struct HeldSets {
    sets: LockSets,
    threads: IdVec<ThreadId, HeldId>,
    numbered: Vec<Numbered>,
    numbers: FxHashMap<Held, HeldId>,
    /// What is held after an acquire in either mode, and after a release, by what was held before and the lock.
    acquired: [PairCache; 2],
    released: PairCache,
    meets: PairCache,
}

impl Default for HeldSets {
    fn default() -> Self {
        HeldSets {
            sets: LockSets::default(),
            threads: IdVec::new(),
            numbered: vec![Numbered::default()],
            numbers: [(Held::default(), HeldId::NOTHING)].into_iter().collect(),
            acquired: Default::default(),
            released: PairCache::default(),
            meets: PairCache::default(),
        }
    }
}

impl HeldSets {
    pub(super) fn reserve(&mut self, threads: usize) {
        self.threads.grow_to(threads);
    }

    /// What a thread holds now.
    #[inline]
    pub(super) fn of(&self, thread: ThreadId) -> HeldId {
        self.threads[thread]
    }

    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let before = self.threads[thread];
        let step = Pair(before.0, lock.0);
        let after = self.acquired[mode as usize].get(step).unwrap_or_else(|| {
            let held = self.sets.acquired(self.behind(before).held, lock, mode);
            let after = self.number(held);
            self.acquired[mode as usize].put(step, after.0)
        });
        self.threads[thread] = HeldId(after);
    }

    /// A lock is given back, in the mode in which it was held.
    pub(super) fn release(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let before = self.threads[thread];
        let step = Pair(before.0, lock.0);
        let after = self.released.get(step).unwrap_or_else(|| {
            let held = self.sets.released(self.behind(before).held, lock, mode);
            let after = self.number(held);
            self.released.put(step, after.0)
        });
        self.threads[thread] = HeldId(after);
    }

    /// Whether a lock keeps apart an access under `first` and one under `second`. If one of them is a meet, whether one
    /// lock does so for all accesses behind it.
    #[inline]
    pub(super) fn protect(&mut self, first: HeldId, second: HeldId) -> bool {
        let (first, second) = (self.behind(first), self.behind(second));
        let common = (first.exclusive & second.all) | (first.all & second.exclusive);
        common != 0
            && (self.sets.signatures_are_exact() || self.sets.have_common_lock(first.held, second.held))
    }

    /// The locks common to two sets.
    #[inline]
    pub(super) fn meet(&mut self, first: HeldId, second: HeldId) -> HeldId {
        if first == second || first == HeldId::NOTHING || self.contains(second, first) {
            return first;
        }
        match self.meets.get(Pair(first.0, second.0)) {
            Some(meet) => HeldId(meet),
            None => self.new_meet(first, second),
        }
    }

    /// Whether the signatures show that one set holds what the other does, at least as strongly: then the other is their
    /// meet.
    #[inline]
    fn contains(&self, larger: HeldId, smaller: HeldId) -> bool {
        let (larger, smaller) = (self.behind(larger), self.behind(smaller));
        let missing = (smaller.all & !larger.all) | (smaller.exclusive & !larger.exclusive);
        self.sets.signatures_are_exact() && missing == 0
    }

    #[cold]
    fn new_meet(&mut self, first: HeldId, second: HeldId) -> HeldId {
        let meet = self.sets.held_at_both(self.behind(first).held, self.behind(second).held);
        let meet = self.number(meet);
        self.meets.put(Pair(first.0, second.0), meet.0);
        meet
    }

    #[inline]
    fn behind(&self, number: HeldId) -> Numbered {
        self.numbered[number.0 as usize]
    }

    fn number(&mut self, held: Held) -> HeldId {
        let [all, exclusive] = [held.all, held.exclusive].map(|set| self.sets.signature(set));
        *self.numbers.entry(held).or_insert_with(|| {
            self.numbered.push(Numbered { held, all, exclusive });
            HeldId(self.numbered.len() as u32 - 1)
        })
    }

    pub(super) fn state_bytes(&self) -> usize {
        let steps = self.acquired.iter().chain([&self.released]);
        self.sets.state_bytes()
            + self.threads.table_bytes()
            + self.numbered.capacity() * size_of::<Numbered>()
            + self.numbers.capacity() * size_of::<(Held, HeldId)>()
            + steps.chain([&self.meets]).map(PairCache::state_bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{LockStep, random_lock_steps};

    #[test]
    fn numbers_stand_for_what_a_thread_holds_by_the_rules() {
        let mut held = HeldSets::default();
        held.reserve(3);
        random_lock_steps(20_000, |LockStep { thread, lock, mode, takes }, locks| {
            match takes {
                true => held.acquire(thread, lock, mode),
                false => held.release(thread, lock, mode),
            }
            let now = held.behind(held.of(thread)).held;
            assert_eq!([now.all, now.exclusive].map(|set| held.sets.locks(set).to_vec()), locks.of(thread));
        });
    }
}

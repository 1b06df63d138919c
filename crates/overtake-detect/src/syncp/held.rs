//! The sets of locks that threads hold, numbered, and whether two of them protect two accesses from each other.
//!
//! A lock held at both accesses, by at least one of them exclusively, keeps them apart in every correct reordering; in a
//! sync-preserving one this shows as the first access being in the closure, and it stays there for every later access of
//! the second thread. So the answer here settles most pairs without a closure.

use overtake_trace::{Id, IdVec, LockId, ThreadId};
use rustc_hash::FxHashMap;

use crate::detector::LockMode;

/// A set of held locks, by number.
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

/// A lock and how it is held, ordered by lock. Within the meet of several sets, shared if any of them holds it shared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Held {
    lock: LockId,
    mode: LockMode,
}

#[derive(Default, Debug)]
struct HeldSet {
    locks: Box<[Held]>,
    /// One bit per lock modulo 64, for locks held in any mode.
    any: u64,
    /// The same for locks held exclusively.
    exclusive: u64,
}

/// What each thread holds, and the table of all sets that occurred.
#[derive(Debug)]
pub(super) struct HeldSets {
    threads: IdVec<ThreadId, HeldId>,
    sets: Vec<HeldSet>,
    numbers: FxHashMap<Box<[Held]>, HeldId>,
    /// The set after a set and an acquire or release.
    steps: FxHashMap<(HeldId, LockId, Step), HeldId>,
    meets: FxHashMap<(HeldId, HeldId), HeldId>,
    /// No lock has a number above 63, so that the bits are exact.
    bits_are_exact: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Step {
    Acquire,
    AcquireShared,
    Release,
}

impl Default for HeldSets {
    fn default() -> Self {
        HeldSets {
            threads: IdVec::new(),
            sets: vec![HeldSet::default()],
            numbers: [(Box::default(), HeldId::NOTHING)].into_iter().collect(),
            steps: FxHashMap::default(),
            meets: FxHashMap::default(),
            bits_are_exact: true,
        }
    }
}

impl HeldSets {
    pub(super) fn reserve(&mut self, threads: usize, locks: usize) {
        self.threads.grow_to(threads);
        self.bits_are_exact = locks <= 64;
    }

    /// What a thread holds now.
    #[inline]
    pub(super) fn of(&self, thread: ThreadId) -> HeldId {
        self.threads[thread]
    }

    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let step = match mode {
            LockMode::Exclusive => Step::Acquire,
            LockMode::Shared => Step::AcquireShared,
        };
        self.step(thread, lock, step, |locks| {
            let at = locks.partition_point(|held| held.lock < lock);
            locks.insert(at, Held { lock, mode });
        });
    }

    pub(super) fn release(&mut self, thread: ThreadId, lock: LockId) {
        self.step(thread, lock, Step::Release, |locks| locks.retain(|held| held.lock != lock));
    }

    fn step(&mut self, thread: ThreadId, lock: LockId, step: Step, change: impl FnOnce(&mut Vec<Held>)) {
        let before = self.threads[thread];
        let after = match self.steps.get(&(before, lock, step)) {
            Some(&after) => after,
            None => {
                let mut locks = self.sets[before.0 as usize].locks.to_vec();
                change(&mut locks);
                let after = self.number(locks);
                self.steps.insert((before, lock, step), after);
                after
            }
        };
        self.threads[thread] = after;
    }

    /// Whether a lock keeps apart an access under `first` and one under `second`. If one of them is a meet, whether one
    /// lock does so for all accesses behind it.
    #[inline]
    pub(super) fn protect(&self, first: HeldId, second: HeldId) -> bool {
        let (first, second) = (&self.sets[first.0 as usize], &self.sets[second.0 as usize]);
        let common = (first.exclusive & second.any) | (first.any & second.exclusive);
        common != 0 && (self.bits_are_exact || share_a_lock(first, second))
    }

    /// The locks common to two sets.
    #[inline]
    pub(super) fn meet(&mut self, first: HeldId, second: HeldId) -> HeldId {
        if first == second || first == HeldId::NOTHING || self.contains(second, first) {
            return first;
        }
        match self.meets.get(&(first, second)) {
            Some(&meet) => meet,
            None => self.new_meet(first, second),
        }
    }

    /// Whether the bits show that one set holds what the other does, at least as strongly: then the other is their meet.
    #[inline]
    fn contains(&self, larger: HeldId, smaller: HeldId) -> bool {
        let (larger, smaller) = (&self.sets[larger.0 as usize], &self.sets[smaller.0 as usize]);
        let is_missing = (smaller.any & !larger.any) | (smaller.exclusive & !larger.exclusive);
        self.bits_are_exact && is_missing == 0
    }

    /// Forgets remembered meets where there are many more of them than sets.
    pub(super) fn trim(&mut self) {
        if self.meets.len() > 2 * self.sets.len() + 256 {
            self.meets = FxHashMap::default();
        }
    }

    #[cold]
    fn new_meet(&mut self, first: HeldId, second: HeldId) -> HeldId {
        let other = &self.sets[second.0 as usize].locks;
        let common = self.sets[first.0 as usize].locks.iter().filter_map(|held| {
            let twin = other.iter().find(|twin| twin.lock == held.lock)?;
            let mode = if twin.mode == held.mode { held.mode } else { LockMode::Shared };
            Some(Held { lock: held.lock, mode })
        });
        let common = common.collect();
        let meet = self.number(common);
        self.meets.insert((first, second), meet);
        meet
    }

    fn number(&mut self, locks: Vec<Held>) -> HeldId {
        let locks = locks.into_boxed_slice();
        if let Some(&known) = self.numbers.get(&locks) {
            return known;
        }
        let number = HeldId(self.sets.len() as u32);
        let bits = |held: &Held| 1 << (held.lock.index() % 64);
        let any = locks.iter().map(bits).fold(0, |all, bit: u64| all | bit);
        let exclusive = locks
            .iter()
            .filter(|held| held.mode == LockMode::Exclusive)
            .map(bits)
            .fold(0, |all, bit| all | bit);
        self.numbers.insert(locks.clone(), number);
        self.sets.push(HeldSet { locks, any, exclusive });
        number
    }

    pub(super) fn state_bytes(&self) -> usize {
        let locks: usize = self.sets.iter().map(|set| size_of_val(&*set.locks)).sum();
        self.threads.table_bytes()
            + self.sets.capacity() * size_of::<HeldSet>()
            + 2 * locks
            + self.numbers.capacity() * size_of::<(Box<[Held]>, HeldId)>()
            + self.steps.capacity() * size_of::<((HeldId, LockId, Step), HeldId)>()
            + self.meets.capacity() * size_of::<((HeldId, HeldId), HeldId)>()
    }
}

fn share_a_lock(first: &HeldSet, second: &HeldSet) -> bool {
    let (mut first, mut second) = (&*first.locks, &*second.locks);
    while let ([a, first_rest @ ..], [b, second_rest @ ..]) = (first, second) {
        if a.lock == b.lock && (a.mode == LockMode::Exclusive || b.mode == LockMode::Exclusive) {
            return true;
        }
        let (lower_or_equal, higher_or_equal) = (a.lock <= b.lock, a.lock >= b.lock);
        if lower_or_equal {
            first = first_rest;
        }
        if higher_or_equal {
            second = second_rest;
        }
    }
    false
}

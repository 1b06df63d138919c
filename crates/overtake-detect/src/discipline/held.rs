//! Sets of locks under small numbers, and which set each thread holds.
//!
//! Programs hold few different sets of locks, again and again. Each set is stored once and named by a [`SetId`]; what a
//! thread holds changes only when it acquires or releases, and adding, removing, intersecting and comparing are
//! remembered by pair of names. So an access costs a comparison of two numbers, mostly.
//!
//! **Memory.** The remembered results are in caches of bounded size that forget ([`PairCache`]). Sets that nothing refers
//! to any more are dropped when they are many ([`HeldLocks::collect`]): a thread that takes a thousand locks one by one
//! makes a thousand sets, of which it mostly needs the last.

use hashbrown::HashTable;
use overtake_trace::{IdVec, LockId, ThreadId};
use rustc_hash::FxBuildHasher;
use std::hash::BuildHasher;

use crate::detector::LockMode;

/// The name of a set of locks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct SetId(u32);

impl SetId {
    /// The set without locks.
    pub(crate) const EMPTY: SetId = SetId(0);
    /// All locks there are: what nothing has been taken away from yet. Only [`LockSets::intersect`] understands it.
    pub(crate) const EVERYTHING: SetId = SetId(u32::MAX);
}

impl Default for SetId {
    fn default() -> Self {
        SetId::EMPTY
    }
}

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
        let Held { all, exclusive } = self.threads[thread];
        let more = self.sets.with(all, lock);
        let exclusive = match mode {
            LockMode::Shared => exclusive,
            LockMode::Exclusive if exclusive == all => more,
            LockMode::Exclusive => self.sets.with(exclusive, lock),
        };
        self.threads[thread] = Held { all: more, exclusive };
    }

    /// A lock is given back. One that was held since before the trace is in no set, which changes nothing.
    #[inline]
    pub(crate) fn release(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let Held { all, exclusive } = self.threads[thread];
        let less = self.sets.without(all, lock);
        let exclusive = match mode {
            LockMode::Shared => exclusive,
            LockMode::Exclusive if exclusive == all => less,
            LockMode::Exclusive => self.sets.without(exclusive, lock),
        };
        self.threads[thread] = Held { all: less, exclusive };
    }

    /// Whether some lock is held at both accesses, by one of them exclusively. Cheap: the test that a predictor makes
    /// before it looks closer at a pair.
    #[inline]
    pub(crate) fn have_common_lock(&mut self, first: Held, second: Held) -> bool {
        !self.sets.are_disjoint(first.exclusive, second.all)
            || (first != second && !self.sets.are_disjoint(first.all, second.exclusive))
    }

    /// Whether an access under `more` holds each lock that one under `less` holds, in that mode.
    #[inline]
    pub(crate) fn holds_all_of(&mut self, more: Held, less: Held) -> bool {
        let none_is_shared = (less.all == less.exclusive) & (more.all == more.exclusive);
        less == more
            || (self.sets.is_subset(less.all, more.all)
                && (none_is_shared || self.sets.is_subset(less.exclusive, more.exclusive)))
    }

    /// Whether sets that nothing refers to should be dropped.
    #[inline]
    pub(crate) fn wants_collection(&self) -> bool {
        self.sets.weight > self.sets.weight_limit
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

/// Every set of locks that is needed, once.
#[derive(Debug)]
pub(crate) struct LockSets {
    /// The locks of all sets, each set sorted and in one piece.
    locks: Vec<LockId>,
    spans: Vec<Span>,
    /// Of each set a bit for each of its locks, the same bit for some; see [`signature`](Self::signature).
    signatures: Vec<u64>,
    /// Whether no two locks of any set have the same bit.
    exact: bool,
    free: Vec<u32>,
    by_content: HashTable<u32>,
    with: PairCache,
    without: PairCache,
    intersections: PairCache,
    disjoint: PairCache,
    scratch: Vec<LockId>,
    /// What the sets cost, in locks.
    weight: usize,
    weight_limit: usize,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    len: u32,
    used: bool,
}

/// Sets of up to this many locks are searched for in others rather than asked a cache about.
const SHORT: usize = 4;

/// What a set costs besides its locks, in locks.
const SET_WEIGHT: usize = 8;

/// Sets are dropped when they weigh more than this, and more than twice what was needed the last time: 16 MiB.
const LEAST_WEIGHT_LIMIT: usize = 4 << 20;

impl Default for LockSets {
    fn default() -> Self {
        let mut sets = LockSets {
            locks: Vec::new(),
            spans: Vec::new(),
            signatures: Vec::new(),
            exact: true,
            free: Vec::new(),
            by_content: HashTable::new(),
            with: PairCache::default(),
            without: PairCache::default(),
            intersections: PairCache::default(),
            disjoint: PairCache::default(),
            scratch: Vec::new(),
            weight: 0,
            weight_limit: LEAST_WEIGHT_LIMIT,
        };
        sets.intern(); // the empty set is number 0
        sets
    }
}

impl LockSets {
    /// The locks of a set, sorted.
    #[inline]
    pub(crate) fn locks(&self, set: SetId) -> &[LockId] {
        content(&self.locks, self.spans[set.0 as usize])
    }

    /// The set and one more lock.
    #[inline]
    pub(crate) fn with(&mut self, set: SetId, lock: LockId) -> SetId {
        let pair = Pair(set.0, lock.0);
        SetId(self.with.get(pair).unwrap_or_else(|| self.make_with(set, lock)))
    }

    #[cold]
    fn make_with(&mut self, set: SetId, lock: LockId) -> u32 {
        self.copy_to_scratch(set);
        if let Err(position) = self.scratch.binary_search(&lock) {
            self.scratch.insert(position, lock);
        }
        let result = self.intern();
        self.with.put(Pair(set.0, lock.0), result)
    }

    /// The set without a lock.
    #[inline]
    pub(crate) fn without(&mut self, set: SetId, lock: LockId) -> SetId {
        let pair = Pair(set.0, lock.0);
        SetId(self.without.get(pair).unwrap_or_else(|| self.make_without(set, lock)))
    }

    #[cold]
    fn make_without(&mut self, set: SetId, lock: LockId) -> u32 {
        self.copy_to_scratch(set);
        self.scratch.retain(|&member| member != lock);
        let result = self.intern();
        self.without.put(Pair(set.0, lock.0), result)
    }

    /// The locks in both sets.
    #[inline]
    pub(crate) fn intersect(&mut self, first: SetId, second: SetId) -> SetId {
        if first == second || second == SetId::EVERYTHING {
            return first;
        }
        match (first, second) {
            (SetId::EVERYTHING, second) => second,
            (SetId::EMPTY, _) | (_, SetId::EMPTY) => SetId::EMPTY,
            _ if self.is_short_subset(first, second) => first,
            _ => {
                let known = self.intersections.get(Pair(first.0, second.0));
                SetId(known.unwrap_or_else(|| self.make_intersection(first, second)))
            }
        }
    }

    #[cold]
    fn make_intersection(&mut self, first: SetId, second: SetId) -> u32 {
        let mut common = std::mem::take(&mut self.scratch);
        common.clear();
        common.extend(in_both(self.locks(first), self.locks(second)));
        self.scratch = common;
        let result = self.intern();
        self.intersections.put(Pair(first.0, second.0), result)
    }

    /// A bit for each lock of a set, the same bit for some. Sets without a common bit have no common lock.
    #[inline]
    pub(crate) fn signature(&self, set: SetId) -> u64 {
        self.signatures[set.0 as usize]
    }

    /// A bit for each lock of a set, for each its own; nothing once there are more locks than bits.
    #[inline]
    pub(crate) fn exact_signature(&self, set: SetId) -> u64 {
        if self.exact { self.signature(set) } else { 0 }
    }

    /// Whether every lock of `first` is in `second`.
    #[inline]
    pub(crate) fn is_subset(&mut self, first: SetId, second: SetId) -> bool {
        first == second
            || (self.signature(first) & !self.signature(second) == 0
                && (self.exact || self.intersect(first, second) == first))
    }

    /// Whether every lock of `first` is in `second`, if that is quickly found out; false otherwise.
    #[inline]
    fn is_short_subset(&self, first: SetId, second: SetId) -> bool {
        self.signature(first) & !self.signature(second) == 0
            && (self.exact || {
                let (locks, others) = (self.locks(first), self.locks(second));
                locks.len() <= SHORT && locks.iter().all(|lock| others.binary_search(lock).is_ok())
            })
    }

    /// Whether no lock is in both sets.
    #[inline]
    pub(crate) fn are_disjoint(&mut self, first: SetId, second: SetId) -> bool {
        if self.signature(first) & self.signature(second) == 0 {
            return true;
        }
        if self.exact || first == second {
            return false;
        }
        let pair = Pair(first.0.min(second.0), first.0.max(second.0));
        self.disjoint.get(pair).unwrap_or_else(|| self.compare(pair)) == 1
    }

    #[cold]
    fn compare(&mut self, pair: Pair) -> u32 {
        let disjoint = in_both(self.locks(SetId(pair.0)), self.locks(SetId(pair.1))).next().is_none();
        self.disjoint.put(pair, u32::from(disjoint))
    }

    fn copy_to_scratch(&mut self, set: SetId) {
        self.scratch.clear();
        self.scratch.extend_from_slice(content(&self.locks, self.spans[set.0 as usize]));
    }

    /// The name of the set in `scratch`.
    fn intern(&mut self) -> u32 {
        let (locks, spans, scratch) = (&self.locks, &self.spans, &self.scratch);
        let hash = hash(scratch);
        let same = |&id: &u32| content(locks, spans[id as usize]) == scratch.as_slice();
        if let Some(&id) = self.by_content.find(hash, same) {
            return id;
        }
        let signature = self.scratch.iter().fold(0, |bits, lock| bits | 1 << (lock.0 % u64::BITS));
        self.exact &= self.scratch.last().is_none_or(|lock| lock.0 < u64::BITS);
        let span = Span { start: self.locks.len(), len: self.scratch.len() as u32, used: true };
        self.locks.extend_from_slice(&self.scratch);
        self.weight += self.scratch.len() + SET_WEIGHT;
        let id = self.free.pop().unwrap_or(self.spans.len() as u32);
        match self.spans.get_mut(id as usize) {
            Some(place) => (*place, self.signatures[id as usize]) = (span, signature),
            None => {
                self.spans.push(span);
                self.signatures.push(signature);
            }
        }
        let (locks, spans) = (&self.locks, &self.spans);
        self.by_content.insert_unique(hash, id, |&id| self::hash(content(locks, spans[id as usize])));
        id
    }

    fn collect(&mut self, used: impl Iterator<Item = SetId>) {
        self.spans.iter_mut().for_each(|span| span.used = false);
        for set in used.chain([SetId::EMPTY]).filter(|&set| set != SetId::EVERYTHING) {
            self.spans[set.0 as usize].used = true;
        }
        self.by_content.clear();
        self.free.clear();
        let old_locks = std::mem::take(&mut self.locks);
        self.weight = 0;
        for id in (0..self.spans.len() as u32).rev() {
            let span = self.spans[id as usize];
            if span.used {
                self.scratch.clear();
                self.scratch.extend_from_slice(content(&old_locks, span));
                self.free.push(id); // so that the set keeps its name
                self.intern();
            }
        }
        let spans = self.spans.iter().enumerate();
        self.free.extend(spans.filter(|(_, span)| !span.used).map(|(id, _)| id as u32));
        for cache in [&mut self.with, &mut self.without, &mut self.intersections, &mut self.disjoint] {
            *cache = PairCache::default();
        }
        self.weight_limit = LEAST_WEIGHT_LIMIT.max(2 * self.weight);
    }

    fn state_bytes(&self) -> usize {
        let caches = [&self.with, &self.without, &self.intersections, &self.disjoint];
        (self.locks.capacity() + self.scratch.capacity()) * size_of::<LockId>()
            + self.spans.capacity() * size_of::<Span>()
            + self.signatures.capacity() * size_of::<u64>()
            + (self.free.capacity() + self.by_content.capacity()) * size_of::<u32>()
            + caches.iter().map(|cache| cache.entries.capacity() * size_of::<(Pair, u32)>()).sum::<usize>()
    }
}

#[inline]
fn content(locks: &[LockId], span: Span) -> &[LockId] {
    &locks[span.start..span.start + span.len as usize]
}

fn hash(locks: &[LockId]) -> u64 {
    FxBuildHasher.hash_one(locks)
}

/// The members of two sorted lists.
fn in_both<'a>(first: &'a [LockId], second: &'a [LockId]) -> impl Iterator<Item = LockId> + 'a {
    let mut second = second.iter().copied().peekable();
    first.iter().copied().filter(move |&lock| {
        while second.next_if(|&other| other < lock).is_some() {}
        second.peek() == Some(&lock)
    })
}

/// Two numbers that a result is remembered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Pair(u32, u32);

impl Pair {
    /// No pair of sets, and no set with a lock.
    const NONE: Pair = Pair(u32::MAX, u32::MAX);
}

/// Remembers results by pair of numbers; a new result takes the place of another one.
///
/// It doubles while it misses often, up to a limit, so small programs pay for small tables.
#[derive(Debug)]
struct PairCache {
    /// A power of two of places.
    entries: Vec<(Pair, u32)>,
    misses: usize,
}

/// Most places of a cache: 3 MiB.
const CACHE_LIMIT: usize = 1 << 18;

impl Default for PairCache {
    fn default() -> Self {
        PairCache { entries: vec![(Pair::NONE, 0); 64], misses: 0 }
    }
}

impl PairCache {
    #[inline]
    fn place(&self, pair: Pair) -> usize {
        let mixed = (u64::from(pair.0) << 32 | u64::from(pair.1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.entries.len() - 1)
    }

    #[inline]
    fn get(&self, pair: Pair) -> Option<u32> {
        let (known, result) = self.entries[self.place(pair)];
        (known == pair).then_some(result)
    }

    fn put(&mut self, pair: Pair, result: u32) -> u32 {
        self.misses += 1;
        if self.misses > self.entries.len() && self.entries.len() < CACHE_LIMIT {
            let larger = vec![(Pair::NONE, 0); 4 * self.entries.len()];
            let old = std::mem::replace(&mut self.entries, larger);
            self.misses = 0;
            old.into_iter()
                .filter(|&(pair, _)| pair != Pair::NONE)
                .for_each(|(pair, result)| self.set(pair, result));
        }
        self.set(pair, result);
        result
    }

    fn set(&mut self, pair: Pair, result: u32) {
        let place = self.place(pair);
        self.entries[place] = (pair, result);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Modes = BTreeMap<LockId, LockMode>;

    fn common_lock(first: &Modes, second: &Modes) -> bool {
        first.iter().any(|(lock, mode)| {
            second
                .get(lock)
                .is_some_and(|other| *mode == LockMode::Exclusive || *other == LockMode::Exclusive)
        })
    }

    fn as_set(locks: &LockSets, set: SetId) -> Vec<LockId> {
        locks.locks(set).to_vec()
    }

    #[test]
    fn held_locks_do_what_maps_do() {
        let mut state = 3_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut held = HeldLocks::default();
        held.grow_to(3);
        let mut maps = vec![Modes::new(); 3];
        let mut kept: Vec<(Held, Modes)> = Vec::new();
        for step in 0..100_000 {
            let (thread, lock) = (random(3) as usize, LockId(random(9) as u32));
            let id = ThreadId(thread as u32);
            if let Some(mode) = maps[thread].remove(&lock) {
                held.release(id, lock, mode);
            } else {
                let mode = if random(3) == 0 { LockMode::Shared } else { LockMode::Exclusive };
                held.acquire(id, lock, mode);
                maps[thread].insert(lock, mode);
            }
            let now = held.of(id);
            let exclusive = maps[thread].iter().filter(|(_, mode)| **mode == LockMode::Exclusive);
            assert_eq!(as_set(&held.sets, now.all), maps[thread].keys().copied().collect::<Vec<_>>());
            assert_eq!(
                as_set(&held.sets, now.exclusive),
                exclusive.map(|(lock, _)| *lock).collect::<Vec<_>>()
            );
            if random(10) == 0 {
                kept.push((now, maps[thread].clone()));
                kept.drain(..kept.len().saturating_sub(20));
            }
            for (before, map) in &kept {
                assert_eq!(held.have_common_lock(*before, now), common_lock(map, &maps[thread]));
                let common = held.sets.intersect(before.all, now.all);
                let expected: Vec<_> =
                    map.keys().filter(|lock| maps[thread].contains_key(lock)).copied().collect();
                assert_eq!(as_set(&held.sets, common), expected);
                let in_mode = |(lock, mode): (&LockId, &LockMode)| {
                    maps[thread].get(lock).is_some_and(|now| now == mode || *mode == LockMode::Shared)
                };
                assert_eq!(held.holds_all_of(now, *before), map.iter().all(in_mode));
            }
            if step % 1000 == 0 {
                held.collect(kept.iter().flat_map(|(held, _)| [held.all, held.exclusive]));
            }
        }
    }

    #[test]
    fn a_release_of_a_lock_from_before_the_trace_changes_nothing() {
        let mut held = HeldLocks::default();
        held.grow_to(1);
        held.release(ThreadId(0), LockId(4), LockMode::Exclusive);
        assert_eq!(held.of(ThreadId(0)), Held::default());
    }

    #[test]
    fn many_locks_held_at_once_take_bounded_memory() {
        let mut held = HeldLocks::default();
        held.grow_to(1);
        let (thread, at_once) = (ThreadId(0), 1000);
        for round in 0..100 {
            for lock in 0..at_once {
                held.acquire(thread, LockId(round * 10_000 + lock), LockMode::Exclusive);
            }
            for lock in 0..at_once {
                held.release(thread, LockId(round * 10_000 + lock), LockMode::Exclusive);
                if held.wants_collection() {
                    held.collect(std::iter::empty());
                }
            }
        }
        assert_eq!(held.of(thread), Held::default());
        assert!(held.state_bytes() < 64 << 20, "{} bytes", held.state_bytes());
    }
}

//! Every set of locks once, under a small number.

use std::hash::BuildHasher;

use hashbrown::HashTable;
use overtake_trace::LockId;
use rustc_hash::FxBuildHasher;

use super::pairs::{Pair, PairCache};

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

/// Every set of locks that is needed, once.
#[derive(Debug)]
pub(crate) struct LockSets {
    /// The locks of all sets, each set sorted and in one piece.
    locks: Vec<LockId>,
    spans: Vec<Span>,
    /// For each set, a bit for each of its locks; some locks share a bit. See [`signature`](Self::signature).
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

/// Sets of up to this many locks are searched for in other sets, without a cache.
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

    /// A bit for each lock of a set; some locks share a bit. Sets without a common bit have no common lock.
    #[inline]
    pub(crate) fn signature(&self, set: SetId) -> u64 {
        self.signatures[set.0 as usize]
    }

    /// Whether no two locks have the same bit in signatures.
    #[inline]
    pub(crate) fn signatures_are_exact(&self) -> bool {
        self.exact
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

    /// Whether there are so many sets that unused ones should be dropped.
    #[inline]
    pub(super) fn wants_collection(&self) -> bool {
        self.weight > self.weight_limit
    }

    /// Drops every set that is not in `used`.
    pub(super) fn collect(&mut self, used: impl Iterator<Item = SetId>) {
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

    pub(crate) fn state_bytes(&self) -> usize {
        let caches = [&self.with, &self.without, &self.intersections, &self.disjoint];
        (self.locks.capacity() + self.scratch.capacity()) * size_of::<LockId>()
            + self.spans.capacity() * size_of::<Span>()
            + self.signatures.capacity() * size_of::<u64>()
            + (self.free.capacity() + self.by_content.capacity()) * size_of::<u32>()
            + caches.iter().map(|cache| cache.state_bytes()).sum::<usize>()
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

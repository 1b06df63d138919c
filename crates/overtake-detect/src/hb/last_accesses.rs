//! The accesses of one variable that a later access can still race with.
//!
//! Kept is the last access of each thread in each class (plain write, atomic write, plain read, atomic load). That is
//! enough to find every access with an earlier partner: if any access of a thread and class is unordered with a later
//! access, so is the last one, and it is the nearest. So the latest of all accesses that race with a later one is kept.
//!
//! An access supersedes an older one that happens before it and conflicts with nothing that the new one does not conflict
//! with: who is unordered with the older one is unordered with the newer. A plain write supersedes everything ordered
//! before it, a read supersedes reads. So a properly locked variable keeps its last write and its last read. Only writes
//! look for what they supersede when entries are many, which they are where many threads read: a read of such a variable
//! does not compare itself with all the readers.

use overtake_trace::{LocationId, ThreadId};
use smallvec::SmallVec;

use crate::access::{AccessKind, Class};

/// A kept access. `mark` is whatever time the algorithm compares.
#[derive(Clone, Debug)]
pub(crate) struct Entry<M> {
    pub(crate) thread: ThreadId,
    pub(crate) location: LocationId,
    pub(crate) mark: M,
    pub(crate) kind: AccessKind,
}

/// Up to this many entries are looked at one by one.
const SEARCHED: usize = 8;

/// Kept accesses of one variable, sorted by class and thread.
#[derive(Clone, Debug)]
pub(crate) struct LastAccesses<M> {
    entries: SmallVec<[Entry<M>; 2]>,
}

impl<M> Default for LastAccesses<M> {
    fn default() -> Self {
        LastAccesses { entries: SmallVec::new() }
    }
}

/// From entries that are sorted.
impl<M> FromIterator<Entry<M>> for LastAccesses<M> {
    fn from_iter<I: IntoIterator<Item = Entry<M>>>(entries: I) -> Self {
        LastAccesses { entries: entries.into_iter().collect() }
    }
}

impl<M> Entry<M> {
    #[inline]
    fn class(&self) -> Class {
        Class::of(self.kind)
    }

    #[inline]
    fn key(&self) -> (Class, ThreadId) {
        (self.class(), self.thread)
    }
}

impl<M: Clone + PartialOrd> LastAccesses<M> {
    /// Adds an access and returns the latest one that it races with. `ordered` says whether an entry of another thread
    /// happens before the access.
    #[inline]
    pub(crate) fn access(&mut self, new: Entry<M>, ordered: impl Fn(&Entry<M>) -> bool) -> Option<Entry<M>> {
        let class = Class::of(new.kind);
        let mut latest: Option<Entry<M>> = None;
        let mut race = |entry: &Entry<M>| {
            if latest.as_ref().is_none_or(|latest| latest.mark < entry.mark) {
                latest = Some(entry.clone());
            }
        };
        if self.entries.len() > SEARCHED && class != Class::PlainWrite {
            let conflicting =
                self.entries.iter().take_while(|entry| entry.class() <= class.last_conflicting());
            for entry in conflicting {
                if class.conflicts(entry.class()) && entry.thread != new.thread && !ordered(entry) {
                    race(entry);
                }
            }
            self.keep(new);
            return latest;
        }
        let mut stays = |entry: &Entry<M>| {
            let supersedes = class.supersedes(entry.class());
            if entry.thread == new.thread {
                return !supersedes;
            }
            let conflicts = class.conflicts(entry.class());
            if !supersedes && !conflicts {
                return true;
            }
            let is_ordered = ordered(entry);
            if conflicts && !is_ordered {
                race(entry);
            }
            !(supersedes && is_ordered)
        };
        match self.entries.as_mut_slice() {
            [] => self.entries.push(new),
            [only] if !stays(only) => *only = new,
            [_] => self.keep(new),
            _ => {
                self.entries.retain(|entry| stays(entry));
                self.keep(new);
            }
        }
        latest
    }

    #[inline]
    fn keep(&mut self, new: Entry<M>) {
        match self.position(new.key()) {
            Ok(position) => self.entries[position] = new,
            Err(position) if position == self.entries.len() => self.entries.push(new),
            Err(position) => self.entries.insert(position, new),
        }
    }

    /// Drops the entry of the access with this class, thread and mark, if no later one took its place. No two accesses of
    /// a variable have the same mark.
    #[inline]
    pub(crate) fn forget(&mut self, class: Class, thread: ThreadId, mark: M) {
        match self.entries.as_slice() {
            [only] if only.mark == mark => self.entries.clear(),
            [_] => {}
            few if few.len() <= SEARCHED => {
                if let Some(position) = few.iter().position(|entry| entry.mark == mark) {
                    self.entries.remove(position);
                }
            }
            _ => {
                if let Ok(position) = self.position((class, thread))
                    && self.entries[position].mark == mark
                {
                    self.entries.remove(position);
                }
            }
        }
    }

    #[inline]
    fn position(&self, key: (Class, ThreadId)) -> Result<usize, usize> {
        if self.entries.len() > SEARCHED {
            return self.entries.binary_search_by_key(&key, Entry::key);
        }
        match self.entries.iter().position(|entry| entry.key() >= key) {
            Some(position) if self.entries[position].key() == key => Ok(position),
            Some(position) => Err(position),
            None => Err(self.entries.len()),
        }
    }

    /// What is kept, by class and thread.
    pub(crate) fn entries(&self) -> &[Entry<M>] {
        &self.entries
    }

    pub(crate) fn marks_mut(&mut self) -> impl Iterator<Item = &mut M> {
        self.entries.iter_mut().map(|entry| &mut entry.mark)
    }

    /// Bytes of the list that lie outside of itself.
    #[inline]
    pub(crate) fn heap_bytes(&self) -> usize {
        if self.entries.spilled() { self.entries.capacity() * size_of::<Entry<M>>() } else { 0 }
    }
}

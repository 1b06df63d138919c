//! Where the rules keep their state: lists, queues and maps.
//!
//! With the feature `alloc`, `Vec`, `VecDeque` and `BTreeMap` are stores. Code that must not allocate implements the traits for its own
//! tables.

/// A list whose order matters.
pub trait List {
    /// What it holds.
    type Item;

    /// The entries in their order.
    fn entries(&self) -> &[Self::Item];

    /// The entries in their order, to change.
    fn entries_mut(&mut self) -> &mut [Self::Item];

    /// Appends an entry.
    fn push(&mut self, item: Self::Item);

    /// Takes the entry at `at` out; the others keep their order.
    fn remove(&mut self, at: usize) -> Self::Item;

    /// Takes all entries out.
    fn clear(&mut self);
}

/// A queue: first in, first out.
pub trait Queue {
    /// What it holds.
    type Item;

    /// Appends an entry.
    fn push(&mut self, item: Self::Item);

    /// Takes the first entry out.
    fn pop(&mut self) -> Option<Self::Item>;

    /// How many entries there are.
    fn count(&self) -> usize;

    /// Takes all entries out.
    fn clear(&mut self);
}

/// A map from keys to numbers.
pub trait Map {
    /// What the numbers belong to.
    type Key: Copy;

    /// The number of a key.
    fn number(&self, key: Self::Key) -> Option<u64>;

    /// Sets the number of a key.
    fn set(&mut self, key: Self::Key, number: u64);

    /// Takes a key out, with its number.
    fn take(&mut self, key: Self::Key) -> Option<u64>;

    /// Changes every number `old` to `new`.
    fn renumber(&mut self, old: u64, new: u64);
}

#[cfg(feature = "alloc")]
mod with_alloc {
    use alloc::collections::{BTreeMap, VecDeque};
    use alloc::vec::Vec;

    use super::{List, Map, Queue};

    impl<T> List for Vec<T> {
        type Item = T;

        #[inline]
        fn entries(&self) -> &[T] {
            self
        }

        #[inline]
        fn entries_mut(&mut self) -> &mut [T] {
            self
        }

        #[inline]
        fn push(&mut self, item: T) {
            Vec::push(self, item);
        }

        #[inline]
        fn remove(&mut self, at: usize) -> T {
            Vec::remove(self, at)
        }

        #[inline]
        fn clear(&mut self) {
            Vec::clear(self);
        }
    }

    impl<T> Queue for VecDeque<T> {
        type Item = T;

        fn push(&mut self, item: T) {
            self.push_back(item);
        }

        fn pop(&mut self) -> Option<T> {
            self.pop_front()
        }

        fn count(&self) -> usize {
            self.len()
        }

        fn clear(&mut self) {
            VecDeque::clear(self);
        }
    }

    impl<K: Ord + Copy> Map for BTreeMap<K, u64> {
        type Key = K;

        fn number(&self, key: K) -> Option<u64> {
            self.get(&key).copied()
        }

        fn set(&mut self, key: K, number: u64) {
            self.insert(key, number);
        }

        fn take(&mut self, key: K) -> Option<u64> {
            self.remove(&key)
        }

        fn renumber(&mut self, old: u64, new: u64) {
            self.values_mut().filter(|number| **number == old).for_each(|number| *number = new);
        }
    }
}

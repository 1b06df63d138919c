//! Dense ids, and vectors indexed by them.
//!
//! Readers number threads, locks, variables and so on from 0 in order of first appearance, so that everything
//! behind the reader indexes plain arrays instead of hashing names. A newtype per kind keeps a lock from being
//! looked up as a variable.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A dense 32-bit id, convertible to and from its position in a table.
pub trait Id: Copy + Eq + fmt::Debug {
    /// The id of the table entry at `index`.
    fn from_index(index: usize) -> Self;
    /// The position of this id's entry in its table.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        #[repr(transparent)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                $name(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl From<$name> for u32 {
            #[inline]
            fn from(id: $name) -> u32 {
                id.0
            }
        }
    )*};
}

ids! {
    /// A thread of the traced program.
    ThreadId;
    /// A mutual-exclusion or reader-writer lock.
    LockId;
    /// A variable: a named location, an array element, or a whole heap block (see [`Variable`](crate::Variable)).
    VarId;
    /// An array or heap block, the common part of its elements' names.
    ArrayId;
    /// An object that `post` and `wait` synchronise on.
    SyncId;
    /// The text of a marker (`begin`, `end`, `branch`, `misuse`).
    MarkerId;
    /// A source location.
    LocationId;
}

/// The ids of traces, for the rules that say what operations mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TraceIds {}

impl overtake_rules::Ids for TraceIds {
    type Thread = ThreadId;
    type Lock = LockId;
    type Object = SyncId;
    type Variable = VarId;
}

impl LocationId {
    /// The location of an event whose input gave none.
    pub const UNKNOWN: LocationId = LocationId(u32::MAX);

    /// Whether the input gave a location.
    #[inline]
    pub fn is_known(self) -> bool {
        self != Self::UNKNOWN
    }
}

/// The position of an event in its trace, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(transparent)]
pub struct EventIndex(pub u64);

impl fmt::Display for EventIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A vector indexed by a dense id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdVec<I, T> {
    entries: Vec<T>,
    id: PhantomData<fn(I) -> I>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        IdVec { entries: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T> IdVec<I, T> {
    /// An empty vector.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends an entry and returns its id.
    pub fn push(&mut self, entry: T) -> I {
        let id = I::from_index(self.entries.len());
        self.entries.push(entry);
        id
    }

    /// The number of entries.
    #[inline]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entry of `id`, if the vector reaches that far.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        self.entries.get(id.index())
    }

    /// The entry of `id` to change, if the vector reaches that far.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        self.entries.get_mut(id.index())
    }

    /// Two different entries at once.
    ///
    /// # Panics
    /// If the ids are equal or out of range.
    #[inline]
    pub fn pair_mut(&mut self, first: I, second: I) -> (&mut T, &mut T) {
        let [a, b] = self
            .entries
            .get_disjoint_mut([first.index(), second.index()])
            .expect("two different ids within the table");
        (a, b)
    }

    /// Makes room for `len` entries, filling up with defaults; never shrinks.
    pub fn grow_to(&mut self, len: usize)
    where
        T: Default,
    {
        if len > self.entries.len() {
            self.entries.resize_with(len, T::default);
        }
    }

    /// As [`grow_to`](Self::grow_to), with little spare room: for tables so large that doubling them would waste memory.
    pub fn grow_tightly_to(&mut self, len: usize)
    where
        T: Default,
    {
        self.make_room(len.saturating_sub(self.entries.len()));
        self.grow_to(len);
    }

    /// Makes room for `count` more entries, with little spare room.
    pub fn make_room(&mut self, count: usize) {
        let len = self.entries.len();
        if len + count > self.entries.capacity() {
            self.entries.reserve_exact(count.max(len / 16));
        }
    }

    /// The entry of `id`, made by default if the vector did not reach that far.
    pub fn entry(&mut self, id: I) -> &mut T
    where
        T: Default,
    {
        self.grow_to(id.index() + 1);
        &mut self.entries[id.index()]
    }

    /// All entries in id order.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.entries.iter()
    }

    /// All entries in id order, to change.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.entries.iter_mut()
    }

    /// All entries with their ids.
    pub fn enumerate(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.entries.iter().enumerate().map(|(index, entry)| (I::from_index(index), entry))
    }

    /// Bytes the table itself occupies, without what its entries own.
    pub fn table_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<T>()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.entries[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.entries[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(entries: It) -> Self {
        IdVec { entries: entries.into_iter().collect(), id: PhantomData }
    }
}

//! Tables by id that take room only for what is alive: an entry takes none until it is first changed, nor after it was said to have ended.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut, Range};

use crate::id::Id;

/// Entries that come and go together. Ids that are given one after the other mostly belong together.
const PAGE: usize = 64;

/// A table by id, whose entries are the default until they are changed.
#[derive(Clone)]
pub struct Pages<I, T> {
    pages: Vec<Option<Box<[T; PAGE]>>>,
    /// How many pages take room.
    filled: usize,
    /// A bit for each entry that has ended, by page, up to the last page with such an entry.
    ended: Vec<u64>,
    /// What an entry is that nobody changed.
    unchanged: T,
    id: PhantomData<fn(I) -> I>,
}

impl<I, T: Default> Default for Pages<I, T> {
    fn default() -> Self {
        Pages { pages: Vec::new(), filled: 0, ended: Vec::new(), unchanged: T::default(), id: PhantomData }
    }
}

impl<I, T> fmt::Debug for Pages<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages").field("filled", &self.filled).finish_non_exhaustive()
    }
}

impl<I: Id, T: Default> Pages<I, T> {
    /// A table of defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// The entry of `id` to change, unless it certainly is the default.
    #[inline]
    pub fn get_mut(&mut self, id: I) -> Option<&mut T> {
        let page = self.pages.get_mut(id.index() / PAGE)?.as_mut()?;
        Some(&mut page[id.index() % PAGE])
    }

    /// The entries that may differ from the default, in id order.
    pub fn enumerate(&self) -> impl Iterator<Item = (I, &T)> {
        let filled =
            self.pages.iter().enumerate().filter_map(|(number, page)| Some((number, page.as_ref()?)));
        filled.flat_map(|(number, page)| {
            page.iter().enumerate().map(move |(at, entry)| (I::from_index(number * PAGE + at), entry))
        })
    }

    /// Entries are no longer needed: they become the default, and their room is given back together with that of their neighbours.
    pub fn end(&mut self, ids: Range<usize>) {
        let mut from = ids.start;
        while from < ids.end {
            let (number, first) = (from / PAGE, from % PAGE);
            let last = (ids.end - 1).min(from | (PAGE - 1)) % PAGE;
            if number >= self.ended.len() {
                self.ended.resize(number + 1, 0);
            }
            self.ended[number] |= u64::MAX >> (PAGE - 1 - last) & u64::MAX << first;
            if let Some(page) = self.pages.get_mut(number)
                && let Some(entries) = page
            {
                if self.ended[number] == u64::MAX {
                    *page = None;
                    self.filled -= 1;
                } else {
                    entries[first..=last].fill_with(T::default);
                }
            }
            from = (number + 1) * PAGE;
        }
    }

    /// Bytes of the table.
    pub fn table_bytes(&self) -> usize {
        self.filled * size_of::<[T; PAGE]>()
            + self.pages.capacity() * size_of::<Option<Box<[T; PAGE]>>>()
            + self.ended.capacity() * size_of::<u64>()
    }

    #[cold]
    #[inline(never)]
    fn make(&mut self, id: I) -> &mut T {
        let number = id.index() / PAGE;
        if number >= self.pages.len() {
            self.pages.resize_with(number + 1, || None);
        }
        let page = &mut self.pages[number];
        self.filled += usize::from(page.is_none());
        let page = page.get_or_insert_with(|| Box::new(std::array::from_fn(|_| T::default())));
        &mut page[id.index() % PAGE]
    }
}

const _: () = assert!(PAGE == u64::BITS as usize);

impl<I: Id, T> Index<I> for Pages<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        match self.pages.get(id.index() / PAGE) {
            Some(Some(page)) => &page[id.index() % PAGE],
            _ => &self.unchanged,
        }
    }
}

impl<I: Id, T: Default> IndexMut<I> for Pages<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        let (number, at) = (id.index() / PAGE, id.index() % PAGE);
        // A look first, because a page that is found cannot be returned where another path needs the table.
        match self.pages.get(number) {
            Some(Some(_)) => {}
            _ => return self.make(id),
        }
        match &mut self.pages[number] {
            Some(page) => &mut page[at],
            None => unreachable!("it was there"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::VarId;

    #[test]
    fn entries_take_room_from_their_first_change_to_their_end() {
        let mut table: Pages<VarId, u32> = Pages::new();
        assert_eq!((table[VarId(1_000)], table.table_bytes()), (0, 0));
        table[VarId(1_000)] = 7;
        table[VarId(63)] = 5;
        assert_eq!((table[VarId(1_000)], table[VarId(999)], table.filled), (7, 0, 2));
        assert_eq!(table.get_mut(VarId(63)), Some(&mut 5));
        assert_eq!(table.get_mut(VarId(64)), None);
        let changed = table.enumerate().filter(|(_, entry)| **entry > 0);
        assert_eq!(changed.collect::<Vec<_>>(), [(VarId(63), &5), (VarId(1_000), &7)]);
        table.end(1..64);
        assert_eq!((table[VarId(63)], table.filled), (0, 2), "one of the page goes on");
        table.end(0..1);
        assert_eq!(table.filled, 1);
        table.end(0..2_000);
        assert_eq!((table[VarId(1_000)], table.filled), (0, 0));
        table[VarId(1_000)] = 8;
        assert_eq!((table[VarId(1_000)], table.filled), (8, 1), "it is used again all the same");
    }

    #[test]
    fn exactly_the_entries_of_a_range_end() {
        for start in 0..130 {
            for end in start..140 {
                let mut table: Pages<VarId, u8> = Pages::new();
                (0..150).for_each(|at| table[VarId(at)] = 1);
                table.end(start as usize..end as usize);
                assert!((0..150).all(|at| (table[VarId(at)] == 0) == (start..end).contains(&at)));
            }
        }
    }
}

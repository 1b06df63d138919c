//! What is known of each 8-byte word of memory, stored in pages. Programs access memory in runs, so that look-ups in the table of pages
//! are rare and the words of a page share cache lines.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashMap;

/// Words of a page.
pub(crate) const PAGE_WORDS: usize = 512;
const PAGE_BITS: u32 = PAGE_WORDS.trailing_zeros();

/// Pages looked up last, by the low bits of their number.
const RECENT: usize = 512;

/// Where each page is.
#[derive(Debug)]
pub(crate) struct Directory {
    places: FxHashMap<u64, u32>,
    recent: [(u64, u32); RECENT],
}

impl Default for Directory {
    fn default() -> Directory {
        Directory { places: FxHashMap::default(), recent: [(u64::MAX, 0); RECENT] }
    }
}

impl Directory {
    /// The place of the page of `word`, if there is one.
    #[inline]
    pub(crate) fn find(&mut self, word: u64) -> Option<usize> {
        let page = word >> PAGE_BITS;
        let recent = &mut self.recent[page as usize % RECENT];
        if recent.0 != page {
            *recent = (page, *self.places.get(&page)?);
        }
        Some(recent.1 as usize)
    }

    /// A new page for `word`.
    #[cold]
    pub(crate) fn add(&mut self, word: u64) -> usize {
        let place = self.places.len() as u32;
        self.places.insert(word >> PAGE_BITS, place);
        place as usize
    }
}

/// Pages that hold something, by number. Emptying a large range costs no more than was filled in it: a program may map a gigabyte over and
/// over again and use one word of it.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    pages: BTreeSet<u64>,
    /// By place.
    is_filled: Vec<bool>,
}

impl Filled {
    /// The page of `word`, at `place`, holds something.
    #[inline]
    pub(crate) fn add(&mut self, word: u64, place: usize) {
        if self.is_filled.len() <= place {
            self.is_filled.resize(place + 1, false);
        }
        if !std::mem::replace(&mut self.is_filled[place], true) {
            self.pages.insert(word >> PAGE_BITS);
        }
    }

    /// Empties a range of words: calls `empty` with the place and the words of each page that may hold something there.
    pub(crate) fn empty(
        &mut self,
        words: Range<u64>,
        directory: &mut Directory,
        mut empty: impl FnMut(usize, Range<usize>),
    ) {
        let mut from = words.start;
        while from < words.end
            && let Some(&page) = self.pages.range(from >> PAGE_BITS..=(words.end - 1) >> PAGE_BITS).next()
            && let Some(place) = directory.find(page << PAGE_BITS)
        {
            let first = page << PAGE_BITS;
            let part = words.start.saturating_sub(first) as usize
                ..(words.end - first).min(PAGE_WORDS as u64) as usize;
            if part.len() == PAGE_WORDS {
                self.pages.remove(&page);
                self.is_filled[place] = false;
            }
            empty(place, part);
            from = (page + 1) << PAGE_BITS;
        }
    }
}

/// Cuts of memory. Bit `i` of a word's mask is set if some access starts or ends before byte `i` of the word.
///
/// A variable is the memory between two cuts: bytes that are always accessed together. An access to an `int` and one to a byte of it
/// conflict, accesses to two neighbouring `char`s do not, and a megabyte that is only copied as a whole is one variable.
#[derive(Debug, Default)]
pub(crate) struct Cuts {
    pub(crate) directory: Directory,
    pub(crate) pages: Vec<[u8; PAGE_WORDS]>,
}

impl Cuts {
    /// Cuts memory before and behind a range of bytes.
    #[inline]
    pub(crate) fn cut(&mut self, address: u64, length: u64) {
        if length > 0 {
            let end = address.saturating_add(length);
            let place = self.place(address / 8);
            let page = &mut self.pages[place];
            page[(address / 8) as usize % PAGE_WORDS] |= 1 << (address % 8);
            if (address ^ end) >> (PAGE_BITS + 3) == 0 {
                page[(end / 8) as usize % PAGE_WORDS] |= 1 << (end % 8);
            } else {
                self.cut_at(end);
            }
        }
    }

    /// Cuts memory before a byte.
    #[inline]
    pub(crate) fn cut_at(&mut self, address: u64) {
        *self.word(address / 8) |= 1 << (address % 8);
    }

    #[inline]
    fn word(&mut self, word: u64) -> &mut u8 {
        let place = self.place(word);
        &mut self.pages[place][word as usize % PAGE_WORDS]
    }

    /// The place of the page of a word; the page is made if it is new.
    #[inline]
    fn place(&mut self, word: u64) -> usize {
        match self.directory.find(word) {
            Some(place) => place,
            None => {
                self.pages.push([0; PAGE_WORDS]);
                self.directory.add(word)
            }
        }
    }

    /// Adds all cuts of `other`.
    pub(crate) fn add(&mut self, other: Cuts) {
        if self.pages.is_empty() {
            *self = other;
            return;
        }
        for (&page, &from) in &other.directory.places {
            let place = self.place(page << PAGE_BITS);
            for (mine, theirs) in self.pages[place].iter_mut().zip(&other.pages[from as usize]) {
                *mine |= theirs;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: u64 = PAGE_WORDS as u64;

    fn emptied(
        filled: &mut Filled,
        directory: &mut Directory,
        words: Range<u64>,
    ) -> Vec<(usize, Range<usize>)> {
        let mut all = Vec::new();
        filled.empty(words, directory, |place, words| all.push((place, words)));
        all
    }

    #[test]
    fn a_page_is_emptied_again_only_after_it_was_filled_again() {
        let (mut filled, mut directory) = (Filled::default(), Directory::default());
        let places: Vec<usize> = (0..100).map(|page| directory.add(page * WORDS)).collect();
        let everything = 0..100 * WORDS;
        assert!(emptied(&mut filled, &mut directory, everything.clone()).is_empty());
        filled.add(7 * WORDS + 3, places[7]);
        filled.add(7 * WORDS + 9, places[7]);
        assert_eq!(emptied(&mut filled, &mut directory, everything.clone()), [(places[7], 0..PAGE_WORDS)]);
        assert!(emptied(&mut filled, &mut directory, everything.clone()).is_empty());
        filled.add(7 * WORDS, places[7]);
        assert_eq!(emptied(&mut filled, &mut directory, everything).len(), 1);
    }

    #[test]
    fn a_page_that_is_emptied_in_part_stays_filled() {
        let (mut filled, mut directory) = (Filled::default(), Directory::default());
        let places: Vec<usize> = (0..2).map(|page| directory.add(page * WORDS)).collect();
        filled.add(0, places[0]);
        filled.add(WORDS, places[1]);
        let middle = emptied(&mut filled, &mut directory, 5..WORDS + 5);
        assert_eq!(middle, [(places[0], 5..PAGE_WORDS), (places[1], 0..5)]);
        assert_eq!(emptied(&mut filled, &mut directory, 0..2 * WORDS).len(), 2);
    }
}

//! What is known of each 8-byte word of memory, stored in pages. Programs access memory in runs, so that look-ups in the table of pages
//! are rare and the words of a page share cache lines.

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

    /// The places of all pages within a range of words, with the words of each page that are in the range.
    pub(crate) fn within(&self, words: std::ops::Range<u64>) -> Vec<(usize, std::ops::Range<usize>)> {
        if words.is_empty() {
            return Vec::new();
        }
        let pages = words.start >> PAGE_BITS..=(words.end - 1) >> PAGE_BITS;
        let part = |page: u64, place: u32| {
            let first = page << PAGE_BITS;
            let start = words.start.saturating_sub(first) as usize;
            let end = (words.end - first).min(PAGE_WORDS as u64) as usize;
            (place as usize, start..end)
        };
        if pages.end() - pages.start() < self.places.len() as u64 {
            pages.filter_map(|page| Some(part(page, *self.places.get(&page)?))).collect()
        } else {
            let all = self.places.iter().filter(|(page, _)| pages.contains(page));
            all.map(|(&page, &place)| part(page, place)).collect()
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

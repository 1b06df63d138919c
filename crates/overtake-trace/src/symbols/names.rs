//! A table of distinct names, numbered in order of first appearance.

use std::hash::Hasher;
use std::marker::PhantomData;

use hashbrown::HashTable;
use rustc_hash::FxHasher;

use super::numbers::Numbers;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::id::Id;

/// Distinct byte strings with dense ids. Names are bytes: inputs are not always UTF-8.
#[derive(Clone, Debug)]
pub struct Names<I> {
    text: Vec<u8>,
    /// End of each name in `text`; a name starts where the previous one ends.
    ends: Numbers,
    /// Positions of the first `indexed` names, by hash. The others are added before the next look-up.
    index: HashTable<u32>,
    indexed: usize,
    id: PhantomData<fn(I) -> I>,
}

impl<I> Default for Names<I> {
    fn default() -> Self {
        Names {
            text: Vec::new(),
            ends: Numbers::default(),
            index: HashTable::new(),
            indexed: 0,
            id: PhantomData,
        }
    }
}

impl<I> PartialEq for Names<I> {
    fn eq(&self, other: &Self) -> bool {
        self.ends == other.ends && self.text == other.text
    }
}

impl<I> Eq for Names<I> {}

impl<I: Id> Names<I> {
    /// The id of `name`, which is added if it is new.
    #[inline]
    pub fn intern(&mut self, name: &[u8]) -> Result<I> {
        self.build_index();
        let Names { text, ends, index, .. } = self;
        let hash = hash_of(name);
        if let Some(&found) = index.find(hash, |&at| name_at(text, ends, at as usize) == name) {
            return Ok(I::from_index(found as usize));
        }
        self.append(name, hash)
    }

    #[cold]
    fn append(&mut self, name: &[u8], hash: u64) -> Result<I> {
        let at = self.ends.len();
        if at >= u32::MAX as usize {
            return Err(Error::new(
                ErrorKind::TooLarge,
                Position::Nowhere,
                "more than 4294967295 names of one kind",
            ));
        }
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len() as u64);
        let Names { text, ends, index, .. } = self;
        index.insert_unique(hash, at as u32, |&at| hash_of(name_at(text, ends, at as usize)));
        self.indexed = self.ends.len();
        Ok(I::from_index(at))
    }

    /// Adds a new name that is made from `base` by counting up (`T3#2`, `T3#3`, ...).
    pub fn intern_fresh(&mut self, base: &[u8]) -> Result<I> {
        for generation in 2_u64.. {
            let mut name = base.to_vec();
            name.extend_from_slice(format!("#{generation}").as_bytes());
            if self.find(&name).is_none() {
                return self.intern(&name);
            }
        }
        unreachable!("some generation is unused")
    }

    /// The id of `name` if it is in the table.
    pub fn find(&mut self, name: &[u8]) -> Option<I> {
        self.build_index();
        let Names { text, ends, index, .. } = self;
        index
            .find(hash_of(name), |&at| name_at(text, ends, at as usize) == name)
            .map(|&at| I::from_index(at as usize))
    }

    /// The name of `id`.
    ///
    /// # Panics
    /// If the id is not of this table.
    #[inline]
    pub fn name(&self, id: I) -> &[u8] {
        name_at(&self.text, &self.ends, id.index())
    }

    /// The name of `id` as text, with anything that is not UTF-8 replaced.
    pub fn display(&self, id: I) -> String {
        String::from_utf8_lossy(self.name(id)).into_owned()
    }

    /// The number of names.
    #[inline]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All names in id order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        (0..self.len()).map(|at| name_at(&self.text, &self.ends, at))
    }

    /// Appends a name from a file, without a check that it is new.
    ///
    /// If a name is given twice, [`find`](Self::find) returns one of its ids; nothing else depends on it.
    pub(crate) fn push_unindexed(&mut self, name: &[u8]) {
        self.text.extend_from_slice(name);
        self.ends.push(self.text.len() as u64);
    }

    fn build_index(&mut self) {
        if self.indexed == self.ends.len() {
            return;
        }
        let Names { text, ends, index, indexed, .. } = self;
        for at in *indexed..ends.len() {
            index.insert_unique(hash_of(name_at(text, ends, at)), at as u32, |&at| {
                hash_of(name_at(text, ends, at as usize))
            });
        }
        *indexed = ends.len();
    }
}

#[inline]
fn name_at<'a>(text: &'a [u8], ends: &Numbers, at: usize) -> &'a [u8] {
    let start = if at == 0 { 0 } else { ends.get(at - 1) };
    &text[start as usize..ends.get(at) as usize]
}

#[inline]
fn hash_of(name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    hasher.finish()
}

//! Short names as machine words, and a table from these to ids.
//!
//! Almost every name of a trace has fewer than 16 bytes, and almost every occurrence is of a name seen before. Loading
//! such a name as one word finds its end without a loop and makes it its own key: one multiplication, one slot. Behind
//! this table stands [`Names`](crate::Names), which takes any name and does the numbering.

/// A name of up to 15 bytes, zero-extended, with its length in the highest byte, so that it is never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    /// Up to 7 bytes.
    Word(u64),
    /// 8 to 15 bytes.
    TwoWords(u128),
}

/// A field at the start of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    pub(super) length: usize,
    pub(super) key: Key,
}

/// The bytes of `text` before the first `end`, if that is among the first 16; `None` also for an empty field.
#[inline]
pub(super) fn short_field(text: &[u8], end: u8) -> Option<Field> {
    let low = u64::from_le_bytes(*text.first_chunk()?);
    let found = matches(low, end);
    if found != 0 {
        let length = (found.trailing_zeros() / 8) as usize;
        let name = low & !(u64::MAX << (8 * length));
        return (length > 0).then_some(Field { length, key: Key::Word(name | (length as u64) << 56) });
    }
    two_word_field(text, low, end)
}

/// As [`short_field`], where `end` is not in the first word, `low`.
fn two_word_field(text: &[u8], low: u64, end: u8) -> Option<Field> {
    let high = u64::from_le_bytes(*text[8..].first_chunk()?);
    let found = matches(high, end);
    if found == 0 {
        return None;
    }
    let beyond = (found.trailing_zeros() / 8) as usize;
    let length = 8 + beyond;
    let high = high & !(u64::MAX << (8 * beyond)) | (length as u64) << 56;
    Some(Field { length, key: Key::TwoWords(u128::from(low) | u128::from(high) << 64) })
}

/// A word whose lowest non-zero byte is where `wanted` first is in `word`; 0 if it is not. Bytes above that one may be
/// set wrongly, for a borrow runs upwards.
#[inline]
fn matches(word: u64, wanted: u8) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let differences = word ^ (ONES * u64::from(wanted));
    differences.wrapping_sub(ONES) & !differences & HIGHS
}

/// Ids by key.
#[derive(Default, Debug)]
pub(super) struct ShortNames {
    words: Table<u64>,
    two_words: Table<u128>,
}

impl ShortNames {
    /// The id under `key`.
    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<u32> {
        match key {
            Key::Word(key) => self.words.get(key),
            Key::TwoWords(key) => self.two_words.get(key),
        }
    }

    /// Puts `id` under `key`, which must not be there yet.
    #[cold]
    pub(super) fn insert(&mut self, key: Key, id: u32) {
        match key {
            Key::Word(key) => self.words.insert(key, id),
            Key::TwoWords(key) => self.two_words.insert(key, id),
        }
    }
}

/// An integer that is 0 in free slots only.
trait Word: Copy + Eq + Default {
    /// A well mixed number.
    fn hash(self) -> usize;
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl Word for u64 {
    #[inline]
    fn hash(self) -> usize {
        // Every byte of the name has a say in the upper half of the product.
        (self.wrapping_mul(ODD) >> 32) as usize
    }
}

impl Word for u128 {
    #[inline]
    fn hash(self) -> usize {
        ((self as u64).wrapping_mul(ODD) ^ (self >> 64) as u64).hash()
    }
}

/// How many keys of 8 bytes, with their ids, fill a cache line of 64 bytes.
const SLOTS: usize = 5;

/// A hash table whose buckets are cache lines. A key whose bucket is full is in the next one that has room.
#[derive(Debug)]
struct Table<K> {
    buckets: Vec<Bucket<K>>,
    used: usize,
}

#[derive(Clone, Copy, Default, Debug)]
#[repr(align(64))]
struct Bucket<K> {
    keys: [K; SLOTS],
    ids: [u32; SLOTS],
}

const _: () = assert!(size_of::<Bucket<u64>>() == 64);

impl<K: Word> Default for Table<K> {
    fn default() -> Self {
        Table { buckets: vec![Bucket::default()], used: 0 }
    }
}

impl<K: Word> Table<K> {
    #[inline]
    fn get(&self, key: K) -> Option<u32> {
        let mask = self.buckets.len() - 1;
        let mut at = key.hash() & mask;
        loop {
            let bucket = &self.buckets[at];
            // All slots are compared, without a branch for each: which one it is cannot be predicted.
            let mut found = SLOTS;
            for slot in 0..SLOTS {
                found = if bucket.keys[slot] == key { slot } else { found };
            }
            if found < SLOTS {
                return Some(bucket.ids[found]);
            }
            if bucket.keys[SLOTS - 1] == K::default() {
                return None;
            }
            at = (at + 1) & mask;
        }
    }

    fn insert(&mut self, key: K, id: u32) {
        debug_assert!(self.get(key).is_none());
        if self.used * 2 >= self.buckets.len() * SLOTS {
            let bigger = vec![Bucket::default(); self.buckets.len() * 2];
            for bucket in std::mem::replace(&mut self.buckets, bigger) {
                let slots = bucket.keys.iter().zip(bucket.ids).filter(|&(&key, _)| key != K::default());
                slots.for_each(|(&key, id)| self.place(key, id));
            }
        }
        self.place(key, id);
        self.used += 1;
    }

    /// Fills the first free slot; a table is at most half full.
    fn place(&mut self, key: K, id: u32) {
        let mask = self.buckets.len() - 1;
        let mut at = key.hash() & mask;
        loop {
            let bucket = &mut self.buckets[at];
            if let Some(slot) = bucket.keys.iter().position(|&key| key == K::default()) {
                bucket.keys[slot] = key;
                bucket.ids[slot] = id;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        [text, &[b'~'; 16]].concat()
    }

    #[test]
    fn a_field_ends_before_the_first_end() {
        for length in 1..=15 {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"|y|");
            let field = short_field(&padded(&text), b'|').unwrap();
            assert_eq!(field.length, length);
        }
        assert_eq!(short_field(&padded(b"|x"), b'|'), None);
        assert_eq!(short_field(&padded(&[b'x'; 16]), b'|'), None);
        assert_eq!(short_field(b"short", b'|'), None);
    }

    #[test]
    fn different_names_have_different_keys() {
        // Zero bytes and bytes next to the end's are where masking and borrowing could go wrong.
        let alphabet = [0, b'{', b'}', b'}' ^ 0x80, b'a'];
        let mut names: Vec<Vec<u8>> = vec![Vec::new()];
        for _ in 0..4 {
            names = names
                .iter()
                .flat_map(|name| alphabet.iter().map(move |&byte| [&name[..], &[byte]].concat()))
                .collect();
        }
        let mut all: Vec<Vec<u8>> = Vec::new();
        for name in names {
            for long in [name.clone(), [b"12345", &name[..]].concat(), [b"12345678901", &name[..]].concat()] {
                (1..=long.len()).for_each(|length| all.push(long[..length].to_vec()));
            }
        }
        all.sort();
        all.dedup();
        let mut keys: Vec<_> = Vec::new();
        for name in &all {
            let field = short_field(&padded(&[&name[..], b"|"].concat()), b'|').unwrap();
            assert_eq!(field.length, name.len());
            keys.push(field.key);
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all.len());
    }

    #[test]
    fn the_table_gives_back_what_was_put_in() {
        let mut table = ShortNames::default();
        let key = |number: u64| short_field(&padded(format!("V{number}|").as_bytes()), b'|').unwrap().key;
        for number in 0..10_000 {
            assert_eq!(table.get(key(number)), None);
            table.insert(key(number), number as u32);
        }
        for number in 0..10_000 {
            assert_eq!(table.get(key(number)), Some(number as u32));
        }
    }
}

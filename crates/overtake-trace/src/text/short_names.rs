//! Short names as machine words, and a table from these words to ids.
//!
//! Almost every name of a trace has fewer than 16 bytes, most have fewer than 8, and almost every name that is read was
//! seen before. A name and the separator behind it are loaded as one word. This finds the name's end without a loop, and the word
//! is the key of the table: a look-up takes one multiplication and one slot. [`Names`](crate::Names) takes any name and
//! numbers the new ones.

/// A name with the separator behind it, zero-extended. The separator is in no name, so different names are different
/// keys, even with zero bytes in them, and no key is 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Key {
    /// Up to 7 bytes and the separator.
    Word(u64),
    /// 8 to 15 bytes and the separator.
    TwoWords(u128),
}

/// The name before the first `end` in `text`, with its length, if it has 1 to 15 bytes.
pub(super) fn short_name(text: &[u8], end: u8) -> Option<(Key, usize)> {
    let low = u64::from_le_bytes(*text.first_chunk()?);
    if let Some((word, length)) = word_through(low, end) {
        return (length > 0).then_some((Key::Word(word), length));
    }
    let high = u64::from_le_bytes(*text[8..].first_chunk()?);
    let (high, beyond) = word_through(high, end)?;
    Some((Key::TwoWords(u128::from(low) | u128::from(high) << 64), 8 + beyond))
}

/// The bytes of `word` through the first `end`, and the number of bytes before it.
#[inline(always)]
fn word_through(word: u64, end: u8) -> Option<(u64, usize)> {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = 0x8080_8080_8080_8080;
    let differences = word ^ (ONES * u64::from(end));
    // The lowest byte set is the first `end`. Bytes above it may be set wrongly, because a borrow runs upwards.
    let found = differences.wrapping_sub(ONES) & !differences & HIGHS;
    let through = found ^ found.wrapping_sub(1);
    (found != 0).then_some((word & through, (found.trailing_zeros() / 8) as usize))
}

/// Ids by key.
#[derive(Default, Debug)]
pub(super) struct ShortNames {
    words: Table<u64>,
    two_words: Table<u128>,
}

impl ShortNames {
    /// The id of the name of up to 7 bytes at `at` in `window`, before the first `end`, and the name's length, if it is in
    /// the table.
    #[inline(always)]
    pub(super) fn find_word<const N: usize>(
        &self,
        window: &[u8; N],
        at: usize,
        end: u8,
    ) -> Option<(u32, usize)> {
        let word = u64::from_le_bytes(window.get(at..at + 8)?.try_into().ok()?);
        let (key, length) = word_through(word, end)?;
        let id = match self.words.get_at_home(key) {
            Some(id) => id,
            None => self.words.get(key)?,
        };
        Some((id, length))
    }

    /// As [`find_word`](Self::find_word), for a name of up to 15 bytes.
    #[inline(always)]
    pub(super) fn find<const N: usize>(&self, window: &[u8; N], at: usize, end: u8) -> Option<(u32, usize)> {
        let low = u64::from_le_bytes(window.get(at..at + 8)?.try_into().ok()?);
        if word_through(low, end).is_some() {
            return self.find_word(window, at, end);
        }
        let high = u64::from_le_bytes(window.get(at + 8..at + 16)?.try_into().ok()?);
        let (high, beyond) = word_through(high, end)?;
        let key = u128::from(low) | u128::from(high) << 64;
        let id = match self.two_words.get_at_home(key) {
            Some(id) => id,
            None => self.two_words.get(key)?,
        };
        Some((id, 8 + beyond))
    }

    /// The id under `key`.
    pub(super) fn get(&self, key: Key) -> Option<u32> {
        match key {
            Key::Word(key) => self.words.get(key),
            Key::TwoWords(key) => self.two_words.get(key),
        }
    }

    /// Puts `id` under `key`, which must not be there yet.
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
        // Every byte of the name changes the upper half of the product.
        let product = u128::from(self) * u128::from(ODD);
        ((product >> 64) as u64 ^ product as u64) as usize
    }
}

impl Word for u128 {
    #[inline]
    fn hash(self) -> usize {
        ((self as u64).wrapping_mul(ODD) ^ (self >> 64) as u64).hash()
    }
}

/// A hash table with linear probing from pairs of slots.
#[derive(Debug)]
struct Table<K> {
    /// Their number is a power of two.
    slots: Vec<Slot<K>>,
    used: usize,
}

#[derive(Clone, Copy, Default, Debug)]
struct Slot<K> {
    key: K,
    id: u32,
}

/// Tables up to this size are at most an eighth full, so that a pair of slots rarely overflows. Larger ones are up to half full,
/// so that they fit into the cache.
const SPARSE_SLOTS: usize = 1 << 14;

impl<K: Word> Default for Table<K> {
    fn default() -> Self {
        Table { slots: vec![Slot::default(); 16], used: 0 }
    }
}

impl<K: Word> Table<K> {
    /// The id under `key`, if the key is in one of its first two slots. Nearly all keys are. Which of the two it is
    /// cannot be predicted, so there is no branch on it.
    #[inline(always)]
    fn get_at_home(&self, key: K) -> Option<u32> {
        let home = key.hash() & (self.slots.len() - 1);
        let (first, second) = (&self.slots[home & !1], &self.slots[home | 1]);
        let id = if first.key == key { first.id } else { second.id };
        ((first.key == key) | (second.key == key)).then_some(id)
    }

    /// The id under `key`.
    #[inline(never)]
    fn get(&self, key: K) -> Option<u32> {
        let slot = self.slots[self.slot_of(key)];
        (slot.key == key).then_some(slot.id)
    }

    /// The slot with `key`, or the free one where it would be.
    fn slot_of(&self, key: K) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = key.hash() & mask & !1;
        while self.slots[at].key != key && self.slots[at].key != K::default() {
            at = (at + 1) & mask;
        }
        at
    }

    fn insert(&mut self, key: K, id: u32) {
        let room = if self.slots.len() <= SPARSE_SLOTS { self.slots.len() / 8 } else { self.slots.len() / 2 };
        if self.used >= room {
            let bigger = vec![Slot::default(); self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, bigger) {
                if slot.key != K::default() {
                    self.place(slot);
                }
            }
        }
        self.place(Slot { key, id });
        self.used += 1;
    }

    fn place(&mut self, slot: Slot<K>) {
        let at = self.slot_of(slot.key);
        debug_assert!(self.slots[at].key == K::default(), "the key is there already");
        self.slots[at] = slot;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        [text, &[b'~'; 16]].concat()
    }

    #[test]
    fn a_name_ends_before_the_first_end() {
        for length in 1..=15 {
            let mut text = vec![b'x'; length];
            text.extend_from_slice(b"|y|");
            assert_eq!(short_name(&padded(&text), b'|').unwrap().1, length);
        }
        assert_eq!(short_name(&padded(b"|x"), b'|'), None);
        assert_eq!(short_name(&padded(&[b'x'; 16]), b'|'), None);
        assert_eq!(short_name(b"short", b'|'), None);
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
            let (key, length) = short_name(&padded(&[&name[..], b"|"].concat()), b'|').unwrap();
            assert_eq!(length, name.len());
            keys.push(key);
        }
        keys.sort_unstable();
        keys.dedup();
        assert_eq!(keys.len(), all.len());
    }

    #[test]
    fn the_table_gives_back_what_was_put_in() {
        let mut table = ShortNames::default();
        let names: Vec<Vec<u8>> = ["V", "", "W", "object-", "a0", "numbered-"]
            .iter()
            .flat_map(|prefix| (0..4000).map(move |number| padded(format!("{prefix}{number}|").as_bytes())))
            .collect();
        let key = |name: &[u8]| short_name(name, b'|').unwrap().0;
        for (id, name) in names.iter().enumerate() {
            assert_eq!(table.get(key(name)), None);
            table.insert(key(name), id as u32);
        }
        for (id, name) in names.iter().enumerate() {
            assert_eq!(table.get(key(name)), Some(id as u32));
            let length = name.iter().position(|&byte| byte == b'|').unwrap();
            let found = table.find_word::<16>(name.first_chunk().unwrap(), 0, b'|');
            assert_eq!(found, (length < 8).then_some((id as u32, length)));
        }
        for absent in ["|V3", "V|", "V3)", "V03|", "V4000|"] {
            let found = table.find_word::<16>(padded(absent.as_bytes()).first_chunk().unwrap(), 0, b'|');
            assert_eq!(found, None, "{absent}");
        }
    }
}

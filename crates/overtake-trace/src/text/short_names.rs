//! Short names as machine words, and a table from these to ids.
//!
//! Almost every name of a trace has fewer than 16 bytes, and almost every occurrence is of a name seen before. Loading
//! such a name as one word finds its end without a loop and makes it its own key: one multiplication, one slot. Behind
//! this table stands [`Names`](crate::Names), which takes any name and does the numbering.

/// The longest name that is a key.
pub(super) const LONGEST: usize = 15;

/// A name of up to [`LONGEST`] bytes, zero-extended, with its length in the highest byte. Never 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    low: u64,
    high: u64,
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
        if length == 0 {
            return None;
        }
        let low = low & (u64::MAX >> (64 - 8 * length));
        return Some(Field { length, key: Key { low, high: (length as u64) << 56 } });
    }
    let high = u64::from_le_bytes(*text[8..].first_chunk()?);
    let found = matches(high, end);
    if found == 0 {
        return None;
    }
    let beyond = (found.trailing_zeros() / 8) as usize;
    let high = high & !(u64::MAX << (8 * beyond));
    let length = 8 + beyond;
    Some(Field { length, key: Key { low, high: high | (length as u64) << 56 } })
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

/// Ids by key: open addressing, at most half full.
#[derive(Debug)]
pub(super) struct ShortNames {
    slots: Vec<Slot>,
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    key: Key,
    id: u32,
}

const FREE: Slot = Slot { key: Key { low: 0, high: 0 }, id: 0 };

impl Default for ShortNames {
    fn default() -> Self {
        ShortNames { slots: vec![FREE; 64], used: 0 }
    }
}

impl ShortNames {
    /// The id under `key`.
    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = hash(key) & mask;
        loop {
            let slot = &self.slots[at & mask];
            if slot.key == key {
                return Some(slot.id);
            }
            if slot.key == FREE.key {
                return None;
            }
            at += 1;
        }
    }

    /// Puts `id` under `key`, which must not be there yet.
    #[cold]
    pub(super) fn insert(&mut self, key: Key, id: u32) {
        debug_assert!(self.get(key).is_none());
        if self.used * 2 >= self.slots.len() {
            let bigger = vec![FREE; self.slots.len() * 2];
            for slot in std::mem::replace(&mut self.slots, bigger) {
                if slot.key != FREE.key {
                    self.place(slot);
                }
            }
        }
        self.place(Slot { key, id });
        self.used += 1;
    }

    fn place(&mut self, slot: Slot) {
        let mask = self.slots.len() - 1;
        let mut at = hash(slot.key) & mask;
        while self.slots[at].key != FREE.key {
            at = (at + 1) & mask;
        }
        self.slots[at] = slot;
    }
}

/// The upper half of a product, where every byte of the name has had its say.
#[inline]
fn hash(key: Key) -> usize {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (key.low ^ key.high.rotate_left(29)).wrapping_mul(ODD);
    (mixed >> 32) as usize ^ (mixed >> 17) as usize & 0xffff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn padded(text: &[u8]) -> Vec<u8> {
        [text, &[b'~'; 16]].concat()
    }

    #[test]
    fn a_field_ends_before_the_first_end() {
        for length in 1..=LONGEST {
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
            keys.push((field.key.low, field.key.high));
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

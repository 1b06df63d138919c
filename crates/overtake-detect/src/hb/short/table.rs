//! A table from numbers to slots, for keys that come and go all the time.
//!
//! Where there are few numbers for the room that may be used, each has its place; else it is a hash table.
//!
//! In a window with more variables than events per variable, every access brings a key and takes one away. Linear probing
//! with removal by moving later entries up does both within a cache line or two and leaves no tombstones behind.

/// Maps keys other than `u32::MAX` to slots.
#[derive(Debug)]
pub(super) struct SlotTable {
    /// A power of two of places, at most a quarter of them taken: then a search mostly ends where it begins, which
    /// branch prediction likes.
    places: Vec<Bucket>,
    taken: usize,
    /// The slots of all numbers, if they are few; then `places` are not used.
    direct: Vec<u32>,
}

/// No slot.
const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Bucket {
    key: u32,
    slot: u32,
}

const FREE: Bucket = Bucket { key: u32::MAX, slot: 0 };
const FEWEST_PLACES: usize = 16;

impl Default for SlotTable {
    fn default() -> Self {
        SlotTable { places: vec![FREE; FEWEST_PLACES], taken: 0, direct: Vec::new() }
    }
}

impl SlotTable {
    /// All keys are below `keys`. If that is not more than `most`, each gets a place of its own.
    pub(super) fn reserve(&mut self, keys: usize, most: u64) {
        if keys as u64 <= most && (self.taken == 0 || !self.direct.is_empty()) {
            self.direct.resize(keys.max(self.direct.len()), NONE);
        } else if keys > self.direct.len() && !self.direct.is_empty() {
            self.taken = 0;
            for (key, slot) in std::mem::take(&mut self.direct).into_iter().enumerate() {
                if slot != NONE {
                    self.get_or_insert(key as u32, || slot);
                }
            }
        }
    }

    /// The slot of a key.
    #[inline(always)] // in the event loop
    pub(super) fn get(&self, key: u32) -> Option<u32> {
        if self.taken == 0 {
            return None;
        }
        if let Some(&slot) = self.direct.get(key as usize) {
            return (slot != NONE).then_some(slot);
        }
        let place = self.places[self.find(key)];
        (place.key == key).then_some(place.slot)
    }

    /// The slot of a key, or else a new one from `make`.
    #[inline(always)] // in the event loop
    pub(super) fn get_or_insert(&mut self, key: u32, make: impl FnOnce() -> u32) -> u32 {
        debug_assert_ne!(key, FREE.key);
        if let Some(slot) = self.direct.get_mut(key as usize) {
            if *slot == NONE {
                *slot = make();
                self.taken += 1;
            }
            return *slot;
        }
        let at = self.find(key);
        if self.places[at].key == key {
            return self.places[at].slot;
        }
        let slot = make();
        self.places[at] = Bucket { key, slot };
        self.taken += 1;
        if 4 * self.taken > self.places.len() {
            self.grow();
        }
        slot
    }

    /// Takes a key away.
    #[inline]
    pub(super) fn remove(&mut self, key: u32) {
        if let Some(slot) = self.direct.get_mut(key as usize) {
            self.taken -= usize::from(*slot != NONE);
            *slot = NONE;
            return;
        }
        let mut hole = self.find(key);
        if self.places[hole].key != key {
            return;
        }
        self.taken -= 1;
        let mut at = hole;
        loop {
            at = (at + 1) & self.mask();
            let place = self.places[at];
            if place.key == FREE.key {
                break;
            }
            // The entry may move into the hole if the hole is not before the place where its probing starts.
            let distance_from_home = at.wrapping_sub(self.home(place.key)) & self.mask();
            let distance_from_hole = at.wrapping_sub(hole) & self.mask();
            if distance_from_home >= distance_from_hole {
                self.places[hole] = place;
                hole = at;
            }
        }
        self.places[hole] = FREE;
    }

    /// How many keys there are.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.taken
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.places.capacity() * size_of::<Bucket>() + self.direct.capacity() * size_of::<u32>()
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![FREE; 2 * self.places.len()];
        for place in std::mem::replace(&mut self.places, larger) {
            if place.key != FREE.key {
                let at = self.find(place.key);
                self.places[at] = place;
            }
        }
    }

    /// The place of a key, or the free place where it belongs.
    #[inline]
    fn find(&self, key: u32) -> usize {
        let mut at = self.home(key);
        while self.places[at].key != key && self.places[at].key != FREE.key {
            at = (at + 1) & self.mask();
        }
        at
    }

    #[inline]
    fn home(&self, key: u32) -> usize {
        let mixed = u64::from(key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & self.mask()
    }

    #[inline]
    fn mask(&self) -> usize {
        self.places.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn the_table_does_what_a_map_does() {
        check(|_, _| ());
    }

    #[test]
    fn a_place_for_each_key_is_the_same_also_when_there_are_more_and_then_too_many() {
        check(|table, step| match step {
            0 => table.reserve(97 * 64, 97 * 65),
            1_000 => table.reserve(97 * 65, 97 * 65),
            200_000 => table.reserve(97 * 65 + 1, 97 * 65),
            _ => {}
        });
    }

    fn check(prepare: impl Fn(&mut SlotTable, u32)) {
        let (mut table, mut map) = (SlotTable::default(), HashMap::new());
        let mut state = 7_u64;
        for step in 0..300_000_u32 {
            prepare(&mut table, step);
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            // Keys that fall to few places, so that runs are long and wrap around.
            let key = ((state >> 40) % 97) as u32 * 64;
            if state >> 63 == 0 {
                let slot = *map.entry(key).or_insert(step);
                assert_eq!(table.get_or_insert(key, || step), slot);
            } else {
                map.remove(&key);
                table.remove(key);
            }
            let key = ((state >> 20) % 97) as u32 * 64;
            assert_eq!(table.get(key), map.get(&key).copied());
            assert_eq!(table.len(), map.len());
        }
    }
}

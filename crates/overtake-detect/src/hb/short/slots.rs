//! A table whose free places are used again, so that its size follows what lives at once.

/// Entries under numbers that stay theirs until they are removed.
#[derive(Default, Debug)]
pub(super) struct Slots<V> {
    entries: Vec<V>,
    free: Vec<u32>,
}

impl<V: Default> Slots<V> {
    /// A place for a new entry, which is the default.
    #[inline]
    pub(super) fn add(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.entries.push(V::default());
            (self.entries.len() - 1) as u32
        })
    }

    /// Empties a place, and with it frees what the entry owned.
    #[inline]
    pub(super) fn remove(&mut self, slot: u32) {
        self.entries[slot as usize] = V::default();
        self.free.push(slot);
    }

    #[inline]
    pub(super) fn get_mut(&mut self, slot: u32) -> &mut V {
        &mut self.entries[slot as usize]
    }

    #[inline]
    pub(super) fn get(&self, slot: u32) -> &V {
        &self.entries[slot as usize]
    }

    /// Two different entries at once.
    pub(super) fn pair_mut(&mut self, first: u32, second: u32) -> (&mut V, &mut V) {
        let [first, second] = self
            .entries
            .get_disjoint_mut([first as usize, second as usize])
            .expect("two different slots within the table");
        (first, second)
    }

    /// Every entry, empty places included.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut V> {
        self.entries.iter_mut()
    }

    /// How many entries live.
    #[cfg(test)]
    pub(super) fn live(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    pub(super) fn table_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<V>() + self.free.capacity() * size_of::<u32>()
    }
}

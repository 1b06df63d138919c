//! Results remembered by pair of numbers, in bounded space.

/// Two numbers that a result is remembered by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pair(pub(crate) u32, pub(crate) u32);

impl Pair {
    /// What no result is remembered by.
    const NONE: Pair = Pair(u32::MAX, u32::MAX);
}

/// Remembers results by pair of numbers; a new result takes the place of another one.
///
/// It grows while it misses often, up to a limit, so small programs pay for small tables.
#[derive(Debug)]
pub(crate) struct PairCache {
    /// A power of two of places.
    entries: Vec<(Pair, u32)>,
    misses: usize,
}

/// Most places of a cache: 3 MiB.
const CACHE_LIMIT: usize = 1 << 18;

impl Default for PairCache {
    fn default() -> Self {
        PairCache { entries: vec![(Pair::NONE, 0); 64], misses: 0 }
    }
}

impl PairCache {
    #[inline]
    fn place(&self, pair: Pair) -> usize {
        let mixed = (u64::from(pair.0) << 32 | u64::from(pair.1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 32) as usize & (self.entries.len() - 1)
    }

    /// The result, if it is remembered.
    #[inline]
    pub(crate) fn get(&self, pair: Pair) -> Option<u32> {
        let (known, result) = self.entries[self.place(pair)];
        (known == pair).then_some(result)
    }

    /// Remembers a result and returns it.
    pub(crate) fn put(&mut self, pair: Pair, result: u32) -> u32 {
        self.misses += 1;
        if self.misses > self.entries.len() && self.entries.len() < CACHE_LIMIT {
            let larger = vec![(Pair::NONE, 0); 4 * self.entries.len()];
            let old = std::mem::replace(&mut self.entries, larger);
            self.misses = 0;
            old.into_iter()
                .filter(|&(pair, _)| pair != Pair::NONE)
                .for_each(|(pair, result)| self.set(pair, result));
        }
        self.set(pair, result);
        result
    }

    fn set(&mut self, pair: Pair, result: u32) {
        let place = self.place(pair);
        self.entries[place] = (pair, result);
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.entries.capacity() * size_of::<(Pair, u32)>()
    }
}

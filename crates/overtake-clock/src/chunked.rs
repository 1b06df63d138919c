//! Clocks that hold only the chunks of components of which they know something.
//!
//! A clock maps components (threads, channels: any dense number) to times, 0 where it knows nothing. It is stored as
//! chunks of 16 neighbouring components, sorted, and a chunk exists only if the clock knows one of its components. With
//! few components a clock is one chunk, kept inline, and a join is a handful of vector instructions; with ten thousand
//! components a clock that knows three of them holds at most three chunks.
//!
//! The caller chooses the type of times: sixteen bits are enough where time is counted within a short window.

use smallvec::SmallVec;

/// Components per chunk: 32 bytes of 16-bit times, one or two vector registers.
const LANES: usize = 16;

/// An integer that counts time. 0 is before everything.
pub trait Tick: Copy + Ord + Default + std::fmt::Debug + 'static {
    /// The largest time.
    const LIMIT: u64;

    /// The time with this number, which is at most [`LIMIT`](Self::LIMIT).
    fn from_number(number: u64) -> Self;

    /// The number of this time.
    fn number(self) -> u64;

    /// The time `by` earlier, 0 at the least.
    fn earlier(self, by: Self) -> Self;
}

macro_rules! ticks {
    ($($integer:ty),*) => {$(
        impl Tick for $integer {
            const LIMIT: u64 = <$integer>::MAX as u64;
            #[inline]
            fn from_number(number: u64) -> Self {
                debug_assert!(number <= Self::LIMIT);
                number as $integer
            }
            #[inline]
            fn number(self) -> u64 {
                u64::from(self)
            }
            #[inline]
            fn earlier(self, by: Self) -> Self {
                self.saturating_sub(by)
            }
        }
    )*};
}

ticks!(u16, u32, u64);

/// A map from components to times that holds only chunks with a known component.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChunkedClock<T> {
    /// Sorted by number.
    chunks: SmallVec<[Chunk<T>; 1]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chunk<T> {
    /// The chunk holds components `number * LANES` and following.
    number: u32,
    times: [T; LANES],
}

impl<T> Default for ChunkedClock<T> {
    fn default() -> Self {
        ChunkedClock { chunks: SmallVec::new() }
    }
}

impl<T: Tick> Chunk<T> {
    #[inline]
    fn join(&mut self, other: &Chunk<T>) {
        // The loop works on copies, so that the compiler makes vector instructions of the maxima.
        let (mut mine, theirs) = (self.times, other.times);
        for (mine, theirs) in mine.iter_mut().zip(theirs) {
            *mine = if *mine < theirs { theirs } else { *mine };
        }
        self.times = mine;
    }
}

impl<T: Tick> ChunkedClock<T> {
    /// A clock that knows nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The time of `component`.
    #[inline]
    pub fn get(&self, component: u32) -> T {
        let (number, lane) = place(component);
        match self.position(number) {
            Ok(position) => self.chunks[position].times[lane],
            Err(_) => T::default(),
        }
    }

    /// Moves `component` forward to `time`; a later time stays. Like [`join`](Self::join), it returns by how many
    /// bytes of heap the clock grew.
    #[inline(always)] // in event loops; what is rare is a call
    pub fn raise(&mut self, component: u32, time: T) -> usize {
        let (number, lane) = place(component);
        match self.chunks.get_mut(number as usize) {
            Some(chunk) if chunk.number == number => {
                chunk.times[lane] = chunk.times[lane].max(time);
                0
            }
            _ => self.raise_slowly(number, lane, time),
        }
    }

    fn raise_slowly(&mut self, number: u32, lane: usize, time: T) -> usize {
        let before = self.heap_bytes();
        let position = self.position(number).unwrap_or_else(|position| {
            self.chunks.insert(position, Chunk { number, times: [T::default(); LANES] });
            position
        });
        let known = &mut self.chunks[position].times[lane];
        *known = (*known).max(time);
        self.heap_bytes() - before
    }

    /// Moves every component forward to what `other` knows.
    #[inline(always)] // in event loops; what is rare is a call
    pub fn join(&mut self, other: &ChunkedClock<T>) -> usize {
        match (self.chunks.as_mut_slice(), other.chunks.as_slice()) {
            ([mine], [theirs]) if mine.number == theirs.number => {
                mine.join(theirs);
                0
            }
            _ => self.join_slowly(other),
        }
    }

    fn join_slowly(&mut self, other: &ChunkedClock<T>) -> usize {
        let before = self.heap_bytes();
        let mut position = 0;
        for theirs in &other.chunks {
            while self.chunks.get(position).is_some_and(|mine| mine.number < theirs.number) {
                position += 1;
            }
            match self.chunks.get_mut(position) {
                Some(mine) if mine.number == theirs.number => mine.join(theirs),
                _ => self.chunks.insert(position, *theirs),
            }
            position += 1;
        }
        self.heap_bytes() - before
    }

    /// Becomes a copy of `other`.
    #[inline(always)] // in event loops; what is rare is a call
    pub fn copy_from(&mut self, other: &ChunkedClock<T>) -> usize {
        match (self.chunks.as_mut_slice(), other.chunks.as_slice()) {
            ([mine], [theirs]) => {
                *mine = *theirs;
                0
            }
            _ => self.copy_slowly(other),
        }
    }

    fn copy_slowly(&mut self, other: &ChunkedClock<T>) -> usize {
        let before = self.heap_bytes();
        self.chunks.clear();
        self.chunks.extend_from_slice(&other.chunks);
        self.heap_bytes() - before
    }

    /// Moves every time back by `by`, and forgets components that reach 0.
    pub fn age(&mut self, by: T) {
        for chunk in &mut self.chunks {
            for time in &mut chunk.times {
                *time = time.earlier(by);
            }
        }
        self.chunks.retain(|chunk| chunk.times.iter().any(|&time| time > T::default()));
        self.chunks.shrink_to_fit();
    }

    /// Whether `test` holds for the times of some component that both clocks may know.
    #[inline]
    pub fn any_pair(&self, other: &ChunkedClock<T>, test: impl Fn(T, T) -> bool) -> bool {
        let mut theirs = other.chunks.iter().peekable();
        self.chunks.iter().any(|mine| {
            while theirs.next_if(|theirs| theirs.number < mine.number).is_some() {}
            theirs.peek().is_some_and(|theirs| {
                // There is no branch per lane, so that the compiler makes vector instructions.
                theirs.number == mine.number
                    && mine
                        .times
                        .iter()
                        .zip(&theirs.times)
                        .fold(false, |any, (&mine, &theirs)| any | test(mine, theirs))
            })
        })
    }

    /// Whether the clock knows nothing.
    pub fn is_empty(&self) -> bool {
        self.chunks.iter().all(|chunk| chunk.times.iter().all(|&time| time == T::default()))
    }

    /// Bytes on the heap.
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        if self.chunks.spilled() { self.chunks.capacity() * size_of::<Chunk<T>>() } else { 0 }
    }

    /// Where the chunk is, or where it would be.
    #[inline]
    fn position(&self, number: u32) -> Result<usize, usize> {
        // A clock that has every chunk, such as the only chunk of a small program, has each at its number.
        match self.chunks.get(number as usize) {
            Some(chunk) if chunk.number == number => Ok(number as usize),
            _ => self.chunks.binary_search_by_key(&number, |chunk| chunk.number),
        }
    }
}

#[inline]
fn place(component: u32) -> (u32, usize) {
    (component / LANES as u32, component as usize % LANES)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// A clock beside the map it stands for.
    #[derive(Clone, Default)]
    struct Both {
        clock: ChunkedClock<u16>,
        map: BTreeMap<u32, u16>,
    }

    impl Both {
        fn check(&self) {
            for component in 0..100 {
                assert_eq!(self.clock.get(component), self.map.get(&component).copied().unwrap_or(0));
            }
            assert_eq!(self.clock.is_empty(), self.map.values().all(|&time| time == 0));
        }

        fn raise(&mut self, component: u32, time: u16) {
            self.clock.raise(component, time);
            let known = self.map.entry(component).or_default();
            *known = time.max(*known);
        }

        fn join(&mut self, other: &Both) {
            self.clock.join(&other.clock);
            for (&component, &time) in &other.map {
                let known = self.map.entry(component).or_default();
                *known = time.max(*known);
            }
        }

        fn age(&mut self, by: u16) {
            self.clock.age(by);
            self.map.values_mut().for_each(|time| *time = time.saturating_sub(by));
        }

        fn meets(&self, other: &Both, sum: u16) -> bool {
            let pairs = (0..100).map(|component| (self.clock.get(component), other.clock.get(component)));
            pairs.into_iter().any(|(a, b)| a > 0 && b > 0 && a + b > sum)
        }
    }

    #[test]
    fn clocks_do_what_maps_do() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut clocks = vec![Both::default(); 6];
        for _ in 0..200_000 {
            let (at, other) = (random(6) as usize, random(6) as usize);
            let second = clocks[other].clone();
            match random(8) {
                0..3 => clocks[at].raise(random(100) as u32, random(1000) as u16),
                3 | 4 => clocks[at].join(&second),
                5 => {
                    clocks[at].clock.copy_from(&second.clock);
                    clocks[at].map = second.map;
                }
                6 => clocks[at].age(random(200) as u16),
                _ => {
                    let sum = random(1500) as u16;
                    let meets = |a: u16, b: u16| a > 0 && b > 0 && a + b > sum;
                    assert_eq!(
                        clocks[at].clock.any_pair(&second.clock, meets),
                        clocks[at].meets(&second, sum)
                    );
                }
            }
            clocks[at].check();
        }
    }

    #[test]
    fn a_clock_that_aged_to_nothing_holds_nothing() {
        let mut clock = ChunkedClock::<u16>::new();
        let grown: usize = (0..1000).map(|component| clock.raise(component, 7)).sum();
        assert_eq!(grown, clock.heap_bytes());
        clock.age(7);
        assert_eq!((clock.heap_bytes(), clock == ChunkedClock::new()), (0, true));
    }
}

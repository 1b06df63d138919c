//! Vector clocks as flat vectors.
//!
//! **State.** `times[u]` is the time of thread `u`; threads beyond the end have time 0.
//! **Invariant.** I1  The last component is not 0, so that a clock is as long as the highest component it knows.
//! **Cost.** A join is one pass of element-wise maxima over two slices, which compiles to vector instructions: for 16
//! threads it is four of them, less than what a tree of components would cost to walk.

use crate::epoch::{Epoch, Time};

/// Clocks of more components than this are long.
const LONG: usize = 256;

/// A clock that can be changed: for each thread, the latest time of it that is known.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct VectorClock {
    times: Vec<Time>,
}

/// Raises each time to the other's. The loop takes four at a time: compilers make a larger loop for any length, which spends most of
/// its time on choosing a case.
#[inline]
fn raise_all(mine: &mut [Time], theirs: &[Time]) -> bool {
    let mut grew = false;
    let (mine_by_four, mine) = mine.as_chunks_mut::<4>();
    let (theirs_by_four, theirs) = theirs.as_chunks::<4>();
    for (mine, theirs) in mine_by_four.iter_mut().zip(theirs_by_four) {
        for at in 0..4 {
            grew |= theirs[at] > mine[at];
            mine[at] = theirs[at].max(mine[at]);
        }
    }
    for (mine, &theirs) in mine.iter_mut().zip(theirs) {
        grew |= theirs > *mine;
        *mine = theirs.max(*mine);
    }
    grew
}

impl VectorClock {
    /// The clock that knows nothing.
    pub const fn new() -> VectorClock {
        VectorClock { times: Vec::new() }
    }

    /// The time of `thread`.
    #[inline]
    pub fn get(&self, thread: u32) -> Time {
        self.times.get(thread as usize).copied().unwrap_or(0)
    }

    /// Whether `epoch` is known.
    #[inline]
    pub fn covers(&self, epoch: Epoch) -> bool {
        epoch.time <= self.get(epoch.thread)
    }

    /// Learns of `epoch`. Returns whether it was new.
    #[inline]
    pub fn raise(&mut self, epoch: Epoch) -> bool {
        let at = epoch.thread as usize;
        if let Some(time) = self.times.get_mut(at) {
            let grew = epoch.time > *time;
            *time = epoch.time.max(*time);
            return grew;
        }
        if epoch.is_some() {
            self.make_room(at + 1);
            self.times.resize(at, 0);
            self.times.push(epoch.time); // I1
        }
        epoch.is_some()
    }

    /// Learns everything that `other` knows; `other` is the components of a clock. Returns whether anything was new.
    #[inline]
    pub fn join(&mut self, other: &[Time]) -> bool {
        debug_assert!(other.last() != Some(&0), "I1");
        let common = self.times.len().min(other.len());
        let (known, rest) = other.split_at(common);
        let grew = raise_all(&mut self.times[..common], known);
        if !rest.is_empty() {
            self.make_room(other.len());
            self.times.extend_from_slice(rest); // I1 of `other`
        }
        grew | !rest.is_empty()
    }

    /// A long clock grows by a sixteenth, not to twice its length: with thousands of threads alive there are as many such clocks.
    #[inline]
    fn make_room(&mut self, length: usize) {
        if length > self.times.capacity() && length > LONG {
            self.times.reserve_exact(length + length / 16 - self.times.len());
        }
    }

    /// As [`join`](Self::join), for the components of a clock from `start` on.
    #[inline]
    pub fn join_from(&mut self, start: usize, other: &[Time]) -> bool {
        debug_assert!(other.last() != Some(&0), "I1");
        if self.times.len() <= start {
            if !other.is_empty() {
                self.make_room(start + other.len());
                self.times.resize(start, 0);
                self.times.extend_from_slice(other); // I1 of `other`
            }
            return !other.is_empty();
        }
        let (known, rest) = other.split_at(other.len().min(self.times.len() - start));
        let grew = raise_all(&mut self.times[start..start + known.len()], known);
        self.make_room(start + other.len());
        self.times.extend_from_slice(rest); // I1 of `other`
        grew | !rest.is_empty()
    }

    /// Whether everything that `other` knows is known.
    pub fn covers_all(&self, other: &[Time]) -> bool {
        debug_assert!(other.last() != Some(&0), "I1");
        other.len() <= self.times.len() && other.iter().zip(&self.times).all(|(theirs, mine)| theirs <= mine)
    }

    /// The components, up to the highest thread that is known.
    #[inline]
    pub fn times(&self) -> &[Time] {
        &self.times
    }

    /// Forgets everything; keeps the memory.
    #[inline]
    pub fn clear(&mut self) {
        self.times.clear();
    }

    /// Bytes on the heap.
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        self.times.capacity() * size_of::<Time>()
    }
}

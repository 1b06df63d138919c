//! What a thread has accessed since its last synchronisation and nobody has judged yet.
//!
//! **State.** Per thread a list of arrays, and for each a strided range of the elements it has read and one of those it has
//! written. An access that a range cannot take sends the range to be judged and begins a new one.
//! **Limit.** At most [`MOST_ARRAYS`] arrays per thread, as in the paper; then all of them are judged.

use overtake_trace::{EventIndex, LocationId, ThreadId};
use rustc_hash::FxHashMap;

use super::range::StridedRange;
use crate::access::At;

/// Most arrays that a thread keeps accesses to unjudged.
pub(super) const MOST_ARRAYS: usize = 2048;

/// Accesses of one kind by one thread to one array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Footprint {
    /// The elements; step 0 for none.
    range: StridedRange,
    /// The first of the accesses.
    at: At,
}

impl Footprint {
    const EMPTY: Footprint = Footprint {
        range: StridedRange { first: 0, last: 0, step: 0 },
        at: At { index: EventIndex(0), thread: ThreadId(0), location: LocationId::UNKNOWN },
    };

    /// Adds an access; false, without effect, if the result would be no strided range.
    #[inline]
    pub(super) fn extend(&mut self, index: u64, at: At) -> bool {
        let StridedRange { last, step, .. } = self.range;
        if step == 0 {
            *self = Footprint { range: StridedRange::single(index), at };
            return true;
        }
        if index.wrapping_sub(last) == step {
            self.range.last = index; // the common case: one step on
            return true;
        }
        match self.range.extended(index) {
            Some(range) => {
                self.range = range;
                true
            }
            None => false,
        }
    }

    /// What there is to be judged; afterwards there is nothing.
    pub(super) fn take(&mut self) -> Option<(StridedRange, At)> {
        let Footprint { range, at } = std::mem::replace(self, Footprint::EMPTY);
        (range.step > 0).then_some((range, at))
    }
}

/// The footprints of one thread on one array.
#[derive(Debug)]
pub(super) struct Touched {
    /// Which array, by its number among the shadows.
    pub(super) shadow: u32,
    pub(super) reads: Footprint,
    pub(super) writes: Footprint,
}

/// The footprints of one thread.
#[derive(Default, Debug)]
pub(super) struct Pending {
    touched: Vec<Touched>,
    /// The array touched last, which is most often the next one too.
    latest: usize,
    /// Positions in `touched` by shadow.
    positions: FxHashMap<u32, u32>,
}

impl Pending {
    /// The footprints on an array. `None` if the buffer is full and has to be taken first.
    #[inline]
    pub(super) fn of(&mut self, shadow: u32) -> Option<&mut Touched> {
        let latest = self.latest;
        if self.touched.get(latest).is_none_or(|touched| touched.shadow != shadow) {
            self.latest = self.position(shadow)?;
        }
        Some(&mut self.touched[self.latest])
    }

    #[inline(never)]
    fn position(&mut self, shadow: u32) -> Option<usize> {
        if let Some(&position) = self.positions.get(&shadow) {
            return Some(position as usize);
        }
        if self.touched.len() == MOST_ARRAYS {
            return None;
        }
        self.positions.insert(shadow, self.touched.len() as u32);
        self.touched.push(Touched { shadow, reads: Footprint::EMPTY, writes: Footprint::EMPTY });
        Some(self.touched.len() - 1)
    }

    /// Takes all footprints out, last array first.
    pub(super) fn pop(&mut self) -> Option<Touched> {
        let touched = self.touched.pop();
        if self.touched.is_empty() && !self.positions.is_empty() {
            self.positions.clear();
        }
        touched
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.touched.capacity() * size_of::<Touched>() + self.positions.capacity() * 2 * size_of::<u32>()
    }
}

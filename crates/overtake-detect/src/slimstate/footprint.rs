//! What a thread has accessed since its last synchronisation and nobody has judged yet.
//!
//! **State.** Per thread a list of arrays, and for each a strided range of the elements it has read and one of those it has
//! written. An access that a range cannot take sends the range to be judged and begins a new one.
//! **Runs.** Most accesses are the next step of a footprint. Where variables are known to be elements in order, up to the end
//! of a page of them, the thread remembers which variable would be the next step, and only counts; the footprint is
//! brought up to date when somebody looks at it.
//! **Invariants.**
//!   I1  While a run has counted steps, its footprint is not looked at but to add them.
//! **Limit.** At most [`MOST_ARRAYS`] arrays per thread, as in the paper; then all of them are judged.

use overtake_trace::{EventIndex, LocationId, ThreadId, VarId};
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

    /// Adds the next `count` steps.
    fn advance(&mut self, count: u64) {
        self.range.last += count * self.range.step;
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

impl Touched {
    fn footprint(&mut self, writes: bool) -> &mut Footprint {
        if writes { &mut self.writes } else { &mut self.reads }
    }
}

/// Steps of a footprint that are only counted.
#[derive(Clone, Copy, Default, Debug)]
struct Run {
    /// The variable of the next step.
    next: u32,
    /// Variables from this one on are not known to be elements in order.
    end: u32,
    step: u32,
    /// The variable of the first step that was counted.
    from: u32,
    /// Where in the list of arrays the footprint is.
    position: u32,
}

/// What became of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Collected {
    /// It is in the footprint.
    Taken,
    /// The footprint cannot take it and has to be judged.
    NoStep,
    /// The footprint cannot even begin: everything pending has to be judged.
    Full,
}

/// The footprints of one thread.
#[derive(Default, Debug)]
pub(super) struct Pending {
    /// Of reads and of writes.
    runs: [Run; 2],
    touched: Vec<Touched>,
    /// The array touched last, which is most often the next one too.
    latest: usize,
    /// Positions in `touched` by shadow.
    positions: FxHashMap<u32, u32>,
}

impl Pending {
    /// Takes an access to a variable if it is the next step of a run.
    #[inline(always)]
    pub(super) fn follow(&mut self, var: VarId, writes: bool) -> bool {
        let run = &mut self.runs[usize::from(writes)];
        let follows = run.next == var.0 && var.0 < run.end;
        if follows {
            run.next = run.next.wrapping_add(run.step);
        }
        follows
    }

    /// Takes an access to element `index`, if it can. Variables from `var` up to `ordered_end` are elements in order.
    #[inline]
    pub(super) fn collect(
        &mut self,
        shadow: u32,
        index: u64,
        at: At,
        writes: bool,
        (var, ordered_end): (VarId, u32),
    ) -> Collected {
        self.settle(writes);
        let Some(position) = self.position(shadow) else { return Collected::Full };
        let footprint = self.touched[position].footprint(writes);
        if !footprint.extend(index, at) {
            return Collected::NoStep;
        }
        let StridedRange { last, step, .. } = footprint.range;
        let step = u32::try_from(step).unwrap_or(u32::MAX);
        if index == last
            && let Some(next) = var.0.checked_add(step)
        {
            let run = Run { next, end: ordered_end, step, from: next, position: position as u32 };
            self.runs[usize::from(writes)] = run;
        }
        Collected::Taken
    }

    /// The footprint on an array, which has one.
    pub(super) fn footprint(&mut self, shadow: u32, writes: bool) -> Option<&mut Footprint> {
        self.settle(writes);
        let position = self.position(shadow)?;
        Some(self.touched[position].footprint(writes))
    }

    /// Brings the footprint of a run up to date and ends the run (I1).
    #[inline]
    fn settle(&mut self, writes: bool) {
        let Run { next, step, from, position, .. } = std::mem::take(&mut self.runs[usize::from(writes)]);
        if next != from {
            let count = u64::from(next.wrapping_sub(from) / step);
            self.touched[position as usize].footprint(writes).advance(count);
        }
    }

    /// Where the footprints on an array are. `None` if the buffer is full and has to be taken first.
    #[inline]
    fn position(&mut self, shadow: u32) -> Option<usize> {
        if self.touched.get(self.latest).is_none_or(|touched| touched.shadow != shadow) {
            self.latest = self.find_position(shadow)?;
        }
        Some(self.latest)
    }

    #[inline(never)]
    fn find_position(&mut self, shadow: u32) -> Option<usize> {
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
        self.settle(false);
        self.settle(true);
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

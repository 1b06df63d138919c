//! A footprint: elements of an array that a thread has accessed in one way since its last synchronisation, and that are not judged yet.
//!
//! Its elements are a strided range. Which variables they are is kept as pieces in which indices and variables advance evenly: mostly one,
//! as programs touch arrays for the first time in order as well.
//!
//! **Invariants.**
//!   I1  The pieces of a footprint have each of its elements once.
//! **Limits.** About [`MOST_PIECES`] pieces for each footprint; then it takes no more.

use overtake_trace::{EventIndex, LocationId, ThreadId, VarId};

use super::range::StridedRange;
use crate::access::At;

/// Most pieces of a footprint. An array whose variables are so unlike its indices is not worth more.
const MOST_PIECES: usize = 64;

/// Elements that are no further apart than this are neighbours, of which each other one may be accessed: elements of recorded memory are bytes.
pub(super) const NEAR: u64 = 16;

/// Elements at equal distances whose variables are at equal distances, in the order in which they were accessed.
///
/// An array whose variables are in another order than its elements has many pieces, so they are small: elements further apart than a
/// step can say are in different pieces.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Piece {
    index: u64,
    pub(super) var: u32,
    /// Modulo 2³²: variables may descend.
    pub(super) var_step: u32,
    pub(super) index_step: i32,
    pub(super) count: u32,
}

impl Piece {
    fn single(index: u64, var: VarId) -> Piece {
        Piece { index, var: var.0, var_step: 0, index_step: 0, count: 1 }
    }

    fn index_at(&self, position: u64) -> u64 {
        self.index.wrapping_add_signed(i64::from(self.index_step).wrapping_mul(position as i64))
    }

    fn var_at(&self, position: u64) -> VarId {
        VarId(self.var.wrapping_add(self.var_step.wrapping_mul(position as u32)))
    }

    /// The position of the last element.
    fn last(&self) -> u64 {
        u64::from(self.count.wrapping_sub(1))
    }

    /// Adds `count` elements, the first of them this one, each these steps on; false, without effect, if they do not fit.
    #[inline]
    fn extend(&mut self, (index, var): (u64, VarId), (index_step, var_step): (u64, u32), count: u32) -> bool {
        let Ok(step) = i32::try_from(index_step as i64) else { return false };
        let Some(all) = self.count.checked_add(count) else { return false };
        let reached = (index.wrapping_sub(index_step), var.0.wrapping_sub(var_step));
        let last = self.last();
        let fits = reached == (self.index_at(last), self.var_at(last).0)
            && (last == 0 || (self.index_step, self.var_step) == (step, var_step));
        if fits {
            (self.index_step, self.var_step, self.count) = (step, var_step, all);
        }
        fits
    }

    /// The elements with indices from `start` up to and without `end`.
    fn elements(self, start: u64, end: u64) -> impl Iterator<Item = (u64, VarId)> {
        let (one, other) = (self.index, self.index_at(self.last()));
        let (first, last) = (one.min(other), one.max(other));
        let step = ((last - first) / self.last().max(1)).max(1);
        let within = StridedRange { first, last, step }.within(start, end);
        within.into_iter().flat_map(StridedRange::iter).map(move |local| {
            let index = start + local;
            (index, self.var_at(index.abs_diff(one) / step))
        })
    }
}

/// Accesses of one kind by one thread to one array.
#[derive(Clone, Debug)]
pub(super) struct Footprint {
    /// The elements; step 0 for none.
    pub(super) range: StridedRange,
    /// The first of the accesses.
    at: At,
    /// The piece that the latest access began or lengthened.
    pub(super) piece: Piece,
    pieces: Vec<Piece>,
}

/// A footprint that is to be judged.
#[derive(Debug)]
pub(super) struct Taken {
    /// The elements.
    pub(super) range: StridedRange,
    /// The first of the accesses.
    pub(super) at: At,
    /// Whether it is a further part of the set of which another part was judged before.
    pub(super) continues: bool,
    piece: Piece,
    pieces: Vec<Piece>,
}

/// The union of footprints as few ranges, in order.
pub(super) fn united(footprints: Vec<Taken>) -> Vec<Taken> {
    let Some(at) = footprints.iter().map(|footprint| footprint.at).min_by_key(|at| at.index) else {
        return Vec::new();
    };
    if footprints.len() == 1 {
        return footprints;
    }
    let mut elements: Vec<_> =
        footprints.iter().flat_map(|footprint| footprint.elements(0, u64::MAX)).collect();
    elements.sort_unstable();
    elements.dedup();
    let (mut footprint, mut ranges) = (Footprint::EMPTY, Vec::new());
    for (index, var) in elements {
        if !footprint.extend(index, var, at) {
            ranges.extend(footprint.take());
            footprint.extend(index, var, at);
        }
    }
    ranges.extend(footprint.take());
    ranges.iter_mut().skip(1).for_each(|range| range.continues = true);
    ranges
}

impl Taken {
    /// The elements with indices from `start` up to and without `end`, and their variables.
    pub(super) fn elements(&self, start: u64, end: u64) -> impl Iterator<Item = (u64, VarId)> {
        let pieces = self.pieces.iter().chain([&self.piece]);
        pieces.flat_map(move |piece| piece.elements(start, end))
    }
}

impl Footprint {
    pub(super) const EMPTY: Footprint = Footprint {
        range: StridedRange { first: 0, last: 0, step: 0 },
        at: At { index: EventIndex(0), thread: ThreadId(0), location: LocationId::UNKNOWN },
        piece: Piece { index: 0, var: 0, var_step: 0, index_step: 0, count: 0 },
        pieces: Vec::new(),
    };

    /// Adds an access; false, without effect, if the result would be no strided range.
    #[inline]
    pub(super) fn extend(&mut self, index: u64, var: VarId, at: At) -> bool {
        let StridedRange { last, step, .. } = self.range;
        if step == 0 {
            *self = Footprint {
                range: StridedRange::single(index),
                at,
                piece: Piece::single(index, var),
                ..Self::EMPTY
            };
            return true;
        }
        if index.wrapping_sub(last) == step && self.piece.extend((index, var), self.steps(index, var), 1) {
            self.range.last = index; // the common case: one step on
            return true;
        }
        match self.range.extended(index) {
            Some(range) if range == self.range => true,
            Some(range) => {
                let steps = self.steps(index, var);
                if !self.piece.extend((index, var), steps, 1) {
                    if self.pieces.len() == MOST_PIECES {
                        return false;
                    }
                    self.begin_piece(Piece::single(index, var));
                }
                self.range = range;
                true
            }
            None => false,
        }
    }

    /// How far an element is from the last one of the present piece, if that may be the piece's step.
    #[inline]
    fn steps(&self, index: u64, var: VarId) -> (u64, u32) {
        let last = self.piece.last();
        (index.wrapping_sub(self.piece.index_at(last)), var.0.wrapping_sub(self.piece.var_at(last).0))
    }

    #[cold]
    fn begin_piece(&mut self, piece: Piece) {
        self.pieces.push(std::mem::replace(&mut self.piece, piece));
    }

    /// Adds the next `count` steps, the first of which is `var`; variables take steps of their own.
    pub(super) fn advance(&mut self, var: VarId, var_step: u32, count: u32) {
        let StridedRange { last, step, .. } = self.range;
        let first = (last + step, var);
        if !self.piece.extend(first, (step, var_step), count) {
            // A run has steps that a piece can have.
            self.begin_piece(Piece {
                index: last + step,
                var: var.0,
                var_step,
                index_step: step as i32,
                count,
            });
        }
        self.range.last += u64::from(count) * step;
    }

    /// Adds the element of a footprint that has one. This one has one, too.
    pub(super) fn append_single(&mut self, single: &Taken) {
        let element = single.piece.elements(0, u64::MAX).next();
        let added = element.is_some_and(|(index, var)| self.extend(index, var, single.at));
        debug_assert!(added, "two elements are a range: {self:?}, {single:?}");
        if single.at.index < self.at.index {
            self.at = single.at;
        }
    }

    /// Bytes beside the footprint itself.
    pub(super) fn heap_bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>()
    }

    /// What there is to be judged; afterwards there is nothing.
    pub(super) fn take(&mut self) -> Option<Taken> {
        let Footprint { range, at, piece, pieces } = std::mem::replace(self, Footprint::EMPTY);
        (range.step > 0).then_some(Taken { range, at, continues: false, piece, pieces })
    }
}

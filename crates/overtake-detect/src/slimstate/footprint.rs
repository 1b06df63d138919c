//! What a thread has accessed since its last synchronisation and no detector has judged yet.
//!
//! **State.** Per thread a list of arrays, and for each a strided range of the elements it has read and one of those it has
//! written. An access that a range cannot take sends the range to be judged and begins a new one. Which variables the
//! elements are is kept as pieces in which indices and variables advance evenly: mostly one, as programs touch arrays for
//! the first time in order as well.
//! **Runs.** Most accesses are the next step of a footprint. Where variables are known to be elements in order, up to the end
//! of a page of them, the thread remembers which variable would be the next step, and only counts; the footprint is
//! brought up to date when it is looked at.
//! **Invariants.**
//!   I1  While a run has counted steps, its footprint is not looked at but to add them.
//!   I2  The pieces of a footprint have each of its elements once.
//! **Limits.** At most as many arrays per thread as `--commit-buffer` says; then all of them are judged. About
//! [`MOST_PIECES`] pieces per footprint; then it is judged.

use overtake_trace::{EventIndex, LocationId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::range::StridedRange;
use crate::access::At;

/// Most pieces of a footprint. An array whose variables are so unlike its indices is not worth more.
const MOST_PIECES: usize = 64;

/// Elements at equal distances whose variables are at equal distances, in the order in which they were accessed.
///
/// An array whose variables are in another order than its elements has many pieces, so they are small: elements further apart than a
/// step can say are in different pieces.
#[derive(Clone, Copy, Default, Debug)]
struct Piece {
    index: u64,
    var: u32,
    /// Modulo 2³²: variables may descend.
    var_step: u32,
    index_step: i32,
    count: u32,
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
    range: StridedRange,
    /// The first of the accesses.
    at: At,
    /// The piece that the latest access began or lengthened.
    piece: Piece,
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
    const EMPTY: Footprint = Footprint {
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
    fn advance(&mut self, var: VarId, var_step: u32, count: u32) {
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

    /// What there is to be judged; afterwards there is nothing.
    pub(super) fn take(&mut self) -> Option<Taken> {
        let Footprint { range, at, piece, pieces } = std::mem::replace(self, Footprint::EMPTY);
        (range.step > 0).then_some(Taken { range, at, continues: false, piece, pieces })
    }
}

/// The footprints of one thread on one array.
#[derive(Debug)]
pub(super) struct Touched {
    /// Which array, by its number among the shadows.
    pub(super) shadow: u32,
    pub(super) reads: Footprint,
    pub(super) writes: Footprint,
    /// Of footprints that are sets of any form, the ranges before, each with whether it was written.
    pub(super) before: Vec<(bool, Taken)>,
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
    /// From variable to variable.
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
    /// The run of reads, and the run of writes.
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

    /// Takes accesses to this many variables with consecutive numbers as far as they are the next steps of a run. Returns how many.
    pub(super) fn follow_sweep(&mut self, var: VarId, count: u32, writes: bool) -> u32 {
        let run = &mut self.runs[usize::from(writes)];
        if run.next != var.0 || run.step != 1 {
            return 0;
        }
        let taken = count.min(run.end.saturating_sub(var.0));
        run.next += taken;
        taken
    }

    /// Takes an access to element `index`, if it can. `ordered` is told how many elements came in order before, and says up to which variable those from `var` on
    /// are elements in order, and how far each is from the one before. A thread may have `most` arrays pending.
    #[inline]
    pub(super) fn collect(
        &mut self,
        shadow: u32,
        (index, var): (u64, VarId),
        at: At,
        writes: bool,
        ordered: impl FnOnce(u32) -> (u32, u64),
        most: usize,
    ) -> Collected {
        self.settle(writes);
        let Some(position) = self.position(shadow, most) else { return Collected::Full };
        let footprint = self.touched[position].footprint(writes);
        if !footprint.extend(index, var, at) {
            return Collected::NoStep;
        }
        let StridedRange { last, step, .. } = footprint.range;
        if index != last {
            return Collected::Taken;
        }
        let (ordered_end, distance) = ordered(footprint.piece.count);
        let step = u32::try_from(step / distance).unwrap_or(u32::MAX);
        if i32::try_from(footprint.range.step).is_ok()
            && footprint.range.step.is_multiple_of(distance)
            && let Some(next) = var.0.checked_add(step)
        {
            let run = Run { next, end: ordered_end, step, from: next, position: position as u32 };
            self.runs[usize::from(writes)] = run;
        }
        Collected::Taken
    }

    /// The footprint on an array, which has one, or may have one beside `most` others.
    pub(super) fn footprint(&mut self, shadow: u32, writes: bool, most: usize) -> Option<&mut Footprint> {
        self.settle(writes);
        let position = self.position(shadow, most)?;
        Some(self.touched[position].footprint(writes))
    }

    /// Keeps a range of a footprint that is a set, as long as there is a footprint on its array.
    pub(super) fn keep(&mut self, shadow: u32, writes: bool, range: Taken) {
        if let Some(touched) = self.touched.iter_mut().find(|touched| touched.shadow == shadow) {
            touched.before.push((writes, range));
        }
    }

    /// Brings the footprint of a run up to date and ends the run (I1).
    #[inline]
    fn settle(&mut self, writes: bool) {
        let Run { next, step, from, position, .. } = std::mem::take(&mut self.runs[usize::from(writes)]);
        if next != from {
            let count = next.wrapping_sub(from) / step;
            self.touched[position as usize].footprint(writes).advance(VarId(from), step, count);
        }
    }

    /// Where the footprints on an array are. `None` if the buffer is full and has to be taken first.
    #[inline]
    fn position(&mut self, shadow: u32, most: usize) -> Option<usize> {
        if self.touched.get(self.latest).is_none_or(|touched| touched.shadow != shadow) {
            self.latest = self.find_position(shadow, most)?;
        }
        Some(self.latest)
    }

    #[inline(never)]
    fn find_position(&mut self, shadow: u32, most: usize) -> Option<usize> {
        if let Some(&position) = self.positions.get(&shadow) {
            return Some(position as usize);
        }
        if self.touched.len() >= most {
            return None;
        }
        self.positions.insert(shadow, self.touched.len() as u32);
        self.touched.push(Touched {
            shadow,
            reads: Footprint::EMPTY,
            writes: Footprint::EMPTY,
            before: Vec::new(),
        });
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
        let footprints = self.touched.iter().flat_map(|touched| [&touched.reads, &touched.writes]);
        let pieces: usize = footprints.map(|footprint| footprint.pieces.capacity()).sum();
        let before: usize = self.touched.iter().map(|touched| touched.before.capacity()).sum();
        self.touched.capacity() * size_of::<Touched>()
            + pieces * size_of::<Piece>()
            + before * size_of::<(bool, Taken)>()
            + self.positions.capacity() * 2 * size_of::<u32>()
    }
}

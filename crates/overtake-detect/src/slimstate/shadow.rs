//! The shadow of an array: stretches, each with a partition of its own.
//!
//! An array whose length is known is one stretch. Of one whose length is not, the first elements are variables like any
//! other, and each further stretch is as long as all before it; so the array grows without moving anything, and a sweep over
//! all of it touches logarithmically many stretches. Elements beyond a known length are further stretches as well. Stretches that are
//! alike become one again.

use overtake_trace::{ArrayId, VarId, Variables};

use super::cells::{Accessor, Cells};
use super::commit::Segment;
use super::extended::Classes;
use super::footprint::Taken;
use super::limits::{ArrayLimits, Room};
use super::pages::{Order, in_order_after, is_step};
use super::reports::PartSink;

/// How much longer the first stretch of an array of unknown length is than a small array. Stretches that are too short for labels would let elements stand alone.
const FIRST_STRETCH: u64 = 7;

/// An array that is long enough to be compressed.
#[derive(Debug)]
pub(super) struct Shadow {
    pub(super) array: ArrayId,
    /// Where the first stretch begins; elements below are variables like any other.
    start: u64,
    /// Length of the first stretch.
    first_length: u64,
    segments: Vec<Segment>,
    /// Whether every stretch collects accesses in footprints.
    collects: bool,
    /// Whether some elements stand alone.
    has_alone: bool,
    /// One more than the highest index accessed.
    reach: u64,
    /// The row of variables that was found last.
    pub(super) latest_row: Option<u32>,
    /// Variables beside pages of elements that are known to be elements in order, from the first of them on.
    ordered: (u32, Order),
}

/// After so many elements in order it is worth looking whether those that follow are the variables that follow.
const LEAST_IN_ORDER: u32 = 2;

impl Shadow {
    /// The shadow of an array of which an element is met for the first time.
    pub(super) fn new(array: ArrayId, length: Option<u64>, limits: ArrayLimits) -> Shadow {
        let first_stretch = if limits.labels_from.is_some() { FIRST_STRETCH } else { 1 };
        let unknown = (limits.small, limits.small.saturating_mul(first_stretch));
        let (start, first_length) = length.map_or(unknown, |length| (0, length));
        Shadow {
            array,
            start,
            first_length,
            segments: Vec::new(),
            collects: true,
            has_alone: false,
            reach: 0,
            latest_row: None,
            ordered: (0, Order::UNKNOWN),
        }
    }

    /// Which variables from an element on are elements in order, as far as that is known. If `before` elements came in order, as many are looked at.
    pub(super) fn in_order(&mut self, element: (u64, VarId), before: u32, variables: &Variables) -> Order {
        let var = element.1.0;
        if !self.is_in_order(var) && before >= LEAST_IN_ORDER {
            let (from, known) = self.ordered;
            let found = in_order_after(self.array, element, before, variables);
            let continues = Order { end: found.end, ..known } == found
                && known.end == var
                && is_step(self.array, element, found, variables);
            self.ordered = (if continues { from } else { var }, found);
        }
        if self.is_in_order(var) { self.ordered.1 } else { Order::UNKNOWN }
    }

    /// Whether a variable is known to be an element in order.
    fn is_in_order(&self, var: u32) -> bool {
        let (from, Order { end, stride, .. }) = self.ordered;
        (from..end).contains(&var) && (var - from).is_multiple_of(stride)
    }

    /// Whether the element is a variable like any other.
    #[inline]
    pub(super) fn is_own(&self, index: u64) -> bool {
        index < self.start
    }

    /// Whether all accesses to the array go to footprints.
    #[inline]
    pub(super) fn collects(&self) -> bool {
        self.collects
    }

    /// The labels of an array that is one stretch with labels.
    #[inline]
    pub(super) fn labels(&mut self) -> Option<&mut Classes> {
        match &mut self.segments[..] {
            [segment] => segment.labels(),
            _ => None,
        }
    }

    /// Whether some elements stand alone.
    #[inline]
    pub(super) fn has_alone(&self) -> bool {
        self.has_alone
    }

    /// Judges a footprint.
    pub(super) fn commit(
        &mut self,
        footprint: &Taken,
        accessor: Accessor<'_>,
        room: &mut Room<'_>,
        races: &mut impl PartSink,
    ) {
        self.reach_to(footprint.range.last, room.cells);
        let from = self.segments.partition_point(|segment| segment.end() <= footprint.range.first);
        for segment in &mut self.segments[from..] {
            segment.commit(footprint, accessor, room, races);
        }
        if from == 0 && room.limits.labels_from.is_some() {
            self.join_stretches(room.cells);
        }
        self.look_again();
    }

    /// Lets the first stretch take over those behind it, as long as they are alike.
    fn join_stretches(&mut self, cells: &mut Cells) {
        while let [first, next, ..] = &mut self.segments[..] {
            if !first.absorb(next, cells) {
                return;
            }
            self.segments.remove(1);
        }
    }

    /// The stretch of an element, made if need be.
    #[inline]
    pub(super) fn segment(&mut self, index: u64, cells: &mut Cells) -> &mut Segment {
        self.reach_to(index, cells);
        let at = match self.segments.len() {
            1 => 0,
            _ => self.segments.partition_point(|segment| segment.end() <= index),
        };
        &mut self.segments[at]
    }

    /// Must be called after a stretch may have changed its partition.
    pub(super) fn look_again(&mut self) {
        self.collects = self.segments.iter().all(Segment::collects);
        self.has_alone = self.segments.iter().any(|segment| !segment.alone().is_empty());
    }

    /// How many cells the stretches have, each with how it is divided.
    pub(super) fn cells_by_mode(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.segments.iter().map(|segment| (segment.mode_name(), segment.cells()))
    }

    /// How the stretch of an element is divided, in words.
    pub(super) fn mode_name(&self, index: u64) -> &'static str {
        let at = self.segments.partition_point(|segment| segment.end() <= index);
        self.segments.get(at).map_or("", Segment::mode_name)
    }

    #[inline]
    fn reach_to(&mut self, index: u64, cells: &mut Cells) {
        if index >= self.reach {
            self.reach = index + 1;
            self.cover(index, cells);
        }
    }

    /// Makes stretches until one has the element.
    #[cold]
    fn cover(&mut self, index: u64, cells: &mut Cells) {
        let mut end = self.segments.last().map_or(self.start, Segment::end);
        while end <= index {
            // The first stretch begins with element 0, wherever elements begin that are not variables like any other.
            let (start, length, floor) = match self.segments.is_empty() {
                true => (0, self.start + self.first_length, self.start),
                false => (end, end, 0),
            };
            let before = self.segments.capacity();
            self.segments.reserve_exact(1); // most arrays have one
            self.segments.push(Segment::new((start, length, floor), cells));
            cells.index_bytes += (self.segments.capacity() - before) * size_of::<Segment>();
            end = start + length;
        }
    }
}

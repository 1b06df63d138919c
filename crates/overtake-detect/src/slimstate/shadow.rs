//! The shadow of an array: stretches, each with a partition of its own.
//!
//! An array whose length is known is one stretch. Of one whose length is not, the first elements are variables like any
//! other, and each further stretch is as long as all before it; so the array grows without moving anything, and a sweep over
//! all of it touches logarithmically many stretches. Elements beyond a known length are further stretches as well.

use overtake_trace::{ArrayId, VarId};

use super::cells::{Accessor, Cells};
use super::commit::{ArrayLimits, PartSink, Room, Segment};
use super::extended::Classes;
use super::footprint::Taken;

/// An array that is long enough to be compressed.
#[derive(Debug)]
pub(super) struct Shadow {
    pub(super) array: ArrayId,
    /// Where the first stretch begins; elements below are variables like any other.
    start: u64,
    /// Length of the first stretch.
    first_length: u64,
    /// The variable of element 0, if variables and elements are in the same order, which many are; may wrap around.
    var_of_first: u64,
    segments: Vec<Segment>,
    /// Whether every stretch collects accesses in footprints.
    collects: bool,
    /// Whether some elements stand alone.
    has_alone: bool,
    /// One more than the highest index accessed.
    reach: u64,
}

impl Shadow {
    /// The shadow of an array of which an element is met for the first time.
    pub(super) fn new(
        array: ArrayId,
        length: Option<u64>,
        var: VarId,
        index: u64,
        limits: ArrayLimits,
    ) -> Shadow {
        let var_of_first = u64::from(var.0).wrapping_sub(index);
        let (start, first_length) = length.map_or((limits.small, limits.small), |length| (0, length));
        Shadow {
            array,
            start,
            first_length,
            var_of_first,
            segments: Vec::new(),
            collects: true,
            has_alone: false,
            reach: 0,
        }
    }

    /// The index of an element whose variable is in order.
    #[inline]
    pub(super) fn index_of(&self, var: VarId) -> u64 {
        u64::from(var.0).wrapping_sub(self.var_of_first)
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
            [segment] if self.start == 0 => segment.labels(),
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
        self.look_again();
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

    /// Elements, cells and partition of each stretch.
    pub(super) fn facts(&self) -> impl Iterator<Item = (u64, u64, &'static str)> {
        let known = if self.start == 0 { self.first_length } else { 0 };
        let reach = self.reach.max(known);
        let mut from = self.start;
        self.segments.iter().map(move |segment| {
            let elements = segment.end().min(reach).saturating_sub(from);
            from = segment.end();
            (elements, segment.cells(), segment.mode_name())
        })
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
            let length = if end == self.start { self.first_length } else { end };
            let before = self.segments.capacity();
            self.segments.push(Segment::new(end, length, cells));
            cells.index_bytes += (self.segments.capacity() - before) * size_of::<Segment>();
            end += length;
        }
    }
}

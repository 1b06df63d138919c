//! Which elements of a stretch have labels (`extended.rs`): all, or every second, fourth or eighth.

use super::range::StridedRange;

/// Labels for a stretch of an array.
#[derive(Clone, Copy, Debug)]
pub(super) struct Labelled {
    /// How many elements the stretch has.
    pub(super) length: u64,
    /// The first ones, up to and without this one, are never accessed.
    pub(super) floor: u64,
    /// The binary logarithm of the unit: elements that it does not divide have no labels.
    pub(super) shift: u32,
}

impl Labelled {
    /// How many labels there are.
    pub(super) fn labels(self) -> u64 {
        (self.length + self.unit() - 1) >> self.shift
    }

    pub(super) fn unit(self) -> u64 {
        1 << self.shift
    }

    /// The first label that counts.
    pub(super) fn floor_label(self) -> usize {
        ((self.floor + self.unit() - 1) >> self.shift) as usize
    }

    /// Whether every element of a range has a label.
    pub(super) fn has(self, range: StridedRange) -> bool {
        let is_whole = |distance: u64| distance & (self.unit() - 1) == 0;
        is_whole(range.first) && (range.first == range.last || is_whole(range.step))
    }

    /// The label of an element.
    #[inline]
    pub(super) fn label_of(self, index: u64) -> Option<usize> {
        let label = index >> self.shift;
        (label << self.shift == index).then_some(label as usize)
    }
}

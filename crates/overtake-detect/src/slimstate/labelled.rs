//! Which elements of a stretch have labels (`extended.rs`): all, or every second, fourth or eighth. And labels that change no more.

use super::cells::{CellId, Cells};
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

/// Labels of elements that stand alone from then on: they say which cell those have that were not accessed since.
#[derive(Debug)]
pub(super) struct Frozen {
    of: Labelled,
    labels: FrozenLabels,
}

/// Whatever is smaller.
#[derive(Debug)]
enum FrozenLabels {
    /// A number for each label, and the cells by number; none if no element has it.
    Each(Vec<u16>, Vec<Option<CellId>>),
    /// Where each stretch of equal labels ends, and its cell.
    Stretches(Vec<(u64, Option<CellId>)>),
}

impl Frozen {
    /// Labels that say which of the cells elements have.
    pub(super) fn new(of: Labelled, labels: Vec<u16>, cells: Vec<Option<CellId>>) -> Frozen {
        let ends = || (1..=labels.len()).filter(|&end| labels.get(end) != Some(&labels[end - 1]));
        let stretch = |end: usize| (end as u64, cells[usize::from(labels[end - 1])]);
        let is_smaller = ends().count() * size_of::<(u64, Option<CellId>)>() < size_of_val(&labels[..]);
        let labels = match is_smaller {
            true => FrozenLabels::Stretches(ends().map(stretch).collect()),
            false => FrozenLabels::Each(labels, cells),
        };
        Frozen { of, labels }
    }

    /// The cell of an element's class; none if it has no label.
    pub(super) fn cell_of(&self, index: u64) -> Option<CellId> {
        let label = self.of.label_of(index)?;
        match &self.labels {
            FrozenLabels::Each(labels, cells) => cells[usize::from(labels[label])],
            FrozenLabels::Stretches(stretches) => {
                stretches[stretches.partition_point(|&(end, _)| end <= label as u64)].1
            }
        }
    }

    /// The cells, each once.
    fn each_cell(&self) -> Vec<CellId> {
        let mut cells: Vec<CellId> = match &self.labels {
            FrozenLabels::Each(_, cells) => cells.iter().flatten().copied().collect(),
            FrozenLabels::Stretches(stretches) => stretches.iter().filter_map(|&(_, cell)| cell).collect(),
        };
        cells.sort_unstable_by_key(|cell| cell.0);
        cells.dedup();
        cells
    }

    /// How many cells there are.
    pub(super) fn cells(&self) -> usize {
        self.each_cell().len()
    }

    /// Bytes of all but the cells themselves.
    pub(super) fn index_bytes(&self) -> usize {
        size_of::<Frozen>() + self.labels_bytes()
    }

    fn labels_bytes(&self) -> usize {
        match &self.labels {
            FrozenLabels::Each(labels, cells) => {
                labels.capacity() * size_of::<u16>() + cells.capacity() * size_of::<Option<CellId>>()
            }
            FrozenLabels::Stretches(stretches) => stretches.capacity() * size_of::<(u64, Option<CellId>)>(),
        }
    }

    /// Gives everything back.
    pub(super) fn give_back(self, cells: &mut Cells) {
        cells.index_bytes -= self.index_bytes();
        self.each_cell().into_iter().for_each(|cell| cells.give_back(cell, 1));
    }
}

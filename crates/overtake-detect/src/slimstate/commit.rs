//! One stretch of an array: its partition, its cells, and how footprints are committed to them.
//!
//! **State.** While elements are treated together, one run of cells for the parts. An element *stands alone* if it is judged by itself
//! ([`Partition::Prefix`], [`Partition::Fine`]). It is *settled* when it gets a cell of its own (`own.rs`), which is when it is first accessed;
//! the cell starts with the history of the part that the element was in. So an array becomes fine at no cost, and elements that are never
//! accessed again have no cells of their own.
//! **Invariants.**
//!   I1  The history of an element that stands alone is that of its own cell if it is settled, else that of its part in
//!       `base`, which no longer changes.
//!   I2  With a prefix, `base` is layers, and the last of them is the part of the elements that do not stand alone.
//! **Limits.** Lengths come from the input. So a partition never has more parts than the trace has variables, labels no more
//! entries than twice that, and own cells are those of variables.

use overtake_trace::VarId;

use super::cells::{Accessor, CellId, Cells};
use super::extended::Classes;
use super::footprint::Taken;
use super::own::{Own, PAGE};
use super::partition::Partition;
use super::range::StridedRange;
use crate::hb::history::RaceSink;

/// How many labels take about as much as a cell.
const LABELS_PER_CELL: u64 = 16;

/// This many parts are always allowed.
const FEW: u64 = 64;

/// What the representation of arrays may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayLimits {
    /// Arrays shorter than this are not compressed.
    pub(super) small: u64,
    /// Stretches from this length on may be labelled instead of fine; `None` for none.
    pub(super) labels_from: Option<u64>,
    /// Variables of the trace so far.
    pub(super) variables: u64,
}

/// Where cells come from, and how many there may be.
pub(super) struct Room<'a> {
    pub(super) cells: &'a mut Cells,
    pub(super) own: &'a mut Own,
    pub(super) limits: ArrayLimits,
}

/// How elements find their cells, or found them before they stood alone.
#[derive(Debug)]
enum Base {
    /// Every element is settled.
    Nothing,
    /// A cell per part.
    Parts(Partition, CellId),
    /// A cell for the elements from the end of the layer before up to and without this end.
    Layers(Vec<(u64, CellId)>),
    /// A cell per class of elements.
    Classes(Box<Classes>),
}

/// Who is judged when elements of a stretch are accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Parts, by footprints.
    Parts,
    /// Elements below alone, the rest together.
    Prefix(u64),
    /// Elements alone.
    Fine,
    /// Classes of elements.
    Classes,
}

/// Elements `start` to `start + length` of an array.
#[derive(Debug)]
pub(super) struct Segment {
    start: u64,
    length: u64,
    mode: Mode,
    base: Base,
    /// How many elements are settled.
    settled: u64,
}

/// Where races of a part go.
pub(super) trait PartSink: RaceSink<CellId> {
    /// Names the indices, counted from 0, that the next race is about, and where their stretch ends.
    fn about(&mut self, part: StridedRange, end: u64);
}

impl Segment {
    /// A stretch that was never accessed.
    pub(super) fn new(start: u64, length: u64, cells: &mut Cells) -> Segment {
        debug_assert!(length > 0);
        let base = Base::Parts(Partition::Coarse, cells.allocate(1));
        Segment { start, length, mode: Mode::Parts, base, settled: 0 }
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.length
    }

    /// Whether accesses are collected in footprints.
    #[inline]
    pub(super) fn collects(&self) -> bool {
        self.mode == Mode::Parts
    }

    /// The indices that stand alone, and will do so to the end.
    #[inline]
    pub(super) fn alone(&self) -> std::ops::Range<u64> {
        let count = match self.mode {
            Mode::Fine => self.length,
            Mode::Prefix(end) => end,
            _ => 0,
        };
        self.start..self.start + count
    }

    /// Judges the elements of a footprint that lie in this stretch.
    pub(super) fn commit(
        &mut self,
        footprint: &Taken,
        accessor: Accessor<'_>,
        room: &mut Room<'_>,
        races: &mut impl PartSink,
    ) {
        let Some(local) = footprint.range.within(self.start, self.end()) else { return };
        self.make_precise(local, room);
        match (self.mode, &mut self.base) {
            (Mode::Parts, &mut Base::Parts(partition, first)) => {
                for part in partition.parts_in(local).iter() {
                    self.name(partition.part(self.length, part), races);
                    room.cells.judge(first.plus(part), accessor, races);
                }
            }
            (Mode::Classes, Base::Classes(_)) => {
                for (index, var) in footprint.elements(self.start, self.end()) {
                    self.name(StridedRange::single(index - self.start), races);
                    if let Base::Classes(classes) = &mut self.base {
                        classes.forget_steps(index - self.start); // the footprint may be older than they are
                    }
                    self.judge_labelled(index, var, accessor, room, races);
                }
            }
            _ => self.commit_singles(footprint, local, accessor, room, races),
        }
    }

    /// Judges elements that stand alone, and the rest of a prefix.
    fn commit_singles(
        &mut self,
        footprint: &Taken,
        local: StridedRange,
        accessor: Accessor<'_>,
        room: &mut Room<'_>,
        races: &mut impl PartSink,
    ) {
        let alone = self.alone();
        for (index, var) in footprint.elements(alone.start, alone.end) {
            self.name(StridedRange::single(index - self.start), races);
            let cell = self.settle(index, var, room);
            room.cells.judge(cell, accessor, races);
        }
        if let (Mode::Prefix(end), Some(rest)) = (self.mode, self.rest())
            && local.last >= end
        {
            self.name(StridedRange::interval(end, self.length), races);
            room.cells.judge(rest, accessor, races);
        }
    }

    /// The labels, if elements have them.
    #[inline]
    pub(super) fn labels(&mut self) -> Option<&mut Classes> {
        match (self.mode, &mut self.base) {
            (Mode::Classes, Base::Classes(classes)) => Some(classes),
            _ => None,
        }
    }

    /// Judges an access to an element of a stretch that does not collect footprints.
    pub(super) fn judge_element(
        &mut self,
        index: u64,
        var: VarId,
        accessor: Accessor<'_>,
        room: &mut Room<'_>,
        races: &mut impl RaceSink<CellId>,
    ) {
        if self.mode == Mode::Classes {
            self.judge_labelled(index, var, accessor, room, races);
            self.make_coarse(room.cells);
            return;
        }
        if !self.alone().contains(&index) {
            self.make_precise(StridedRange::single(index - self.start), room);
        }
        if !self.alone().contains(&index) {
            self.make_fine(room); // it is all of the rest
        }
        let cell = self.settle(index, var, room);
        room.cells.judge(cell, accessor, races);
    }

    /// Judges an access to an element by its label. If there are too many classes, elements stand alone from here on.
    fn judge_labelled(
        &mut self,
        index: u64,
        var: VarId,
        accessor: Accessor<'_>,
        room: &mut Room<'_>,
        races: &mut impl RaceSink<CellId>,
    ) {
        if let (Mode::Classes, Base::Classes(classes)) = (self.mode, &mut self.base) {
            if classes.judge(index - self.start, accessor, room.cells, races) {
                return;
            }
            self.make_fine(room);
        }
        let cell = self.settle(index, var, room);
        room.cells.judge(cell, accessor, races);
    }

    /// The own cell of an element that stands alone (I1).
    pub(super) fn settle(&mut self, index: u64, var: VarId, room: &mut Room<'_>) -> CellId {
        debug_assert!(self.alone().contains(&index));
        if let Some(cell) = room.own.cell(var) {
            return cell;
        }
        let cell = room.own.settle_element(var, self.base_cell(index - self.start), room.cells);
        self.settled += 1;
        if self.settled == self.length {
            self.replace_base(Base::Nothing, room.cells);
        }
        cell
    }

    /// Settles the elements from `first` on, which are the variables of a page in order and stand alone.
    pub(super) fn settle_page(&mut self, first: u64, page: usize, room: &mut Room<'_>) {
        let local = first - self.start;
        let history = |offset: u64| self.base_cell(local + offset);
        self.settled += room.own.settle_page(page, history, room.cells);
        if self.settled == self.length {
            self.replace_base(Base::Nothing, room.cells);
        }
    }

    /// Lets every element stand alone from now on.
    pub(super) fn make_fine(&mut self, room: &mut Room<'_>) {
        if self.mode == Mode::Fine {
            return;
        }
        self.mode = Mode::Fine;
        if self.length <= room.limits.variables {
            room.cells.make_room(self.length - self.settled + 2 * PAGE as u64); // the first and last pages have others, too
        }
    }

    /// How many cells the stretch has.
    pub(super) fn cells(&self) -> u64 {
        let base = match &self.base {
            Base::Nothing => 0,
            Base::Parts(partition, _) => partition.parts(self.length),
            Base::Layers(layers) => layers.len() as u64,
            Base::Classes(classes) => classes.live() as u64,
        };
        base + self.settled
    }

    /// The partition by name.
    pub(super) fn mode_name(&self) -> &'static str {
        match (self.mode, &self.base) {
            (Mode::Prefix(_), _) => "prefix",
            (Mode::Fine, _) => "fine",
            (Mode::Classes, _) => "classes",
            (_, Base::Parts(Partition::Block(_), _)) => "block",
            (_, Base::Parts(Partition::Stride(_), _)) => "stride",
            (_, Base::Parts(Partition::Split(_), _)) => "split",
            _ => "coarse",
        }
    }

    fn name(&self, local: StridedRange, races: &mut impl PartSink) {
        let StridedRange { first, last, step } = local;
        races.about(StridedRange { first: first + self.start, last: last + self.start, step }, self.end());
    }

    /// Refines the partition so that `local` is a union of parts.
    fn make_precise(&mut self, local: StridedRange, room: &mut Room<'_>) {
        let partition = match (self.mode, &self.base) {
            (Mode::Parts, &Base::Parts(partition, _)) => partition,
            (Mode::Prefix(end), _) => Partition::Prefix(end),
            _ => return,
        };
        let refined = partition.refine(self.length, local);
        if refined != partition {
            self.adopt(refined, room);
        }
    }

    /// Changes to a finer partition. Instead of elements that stand alone there may be labels, and instead of parts where
    /// labels take less than their cells.
    fn adopt(&mut self, refined: Partition, room: &mut Room<'_>) {
        let few = room.limits.variables.max(FEW);
        let parts = refined.parts(self.length);
        let may_label = self.mode == Mode::Parts
            && room.limits.labels_from.is_some_and(|least| (least..=2 * few).contains(&self.length));
        let is_prefix = matches!(refined, Partition::Prefix(_));
        if may_label && (is_prefix || parts > self.length / LABELS_PER_CELL) {
            return self.label(room);
        }
        match refined {
            Partition::Prefix(end) => self.lengthen_prefix(end, room.cells),
            Partition::Block(_) | Partition::Stride(_) | Partition::Split(_) if parts <= few => {
                self.split_parts(refined, room.cells);
            }
            _ => self.make_fine(room),
        }
    }

    fn split_parts(&mut self, refined: Partition, cells: &mut Cells) {
        let parts = refined.parts(self.length);
        let first = cells.allocate(parts);
        for part in 0..parts {
            if let Some(source) = self.base_cell(refined.part(self.length, part).first) {
                cells.fill(source, first.plus(part));
            }
        }
        self.replace_base(Base::Parts(refined, first), cells);
    }

    /// Lets the elements below `end` stand alone (I2).
    fn lengthen_prefix(&mut self, end: u64, cells: &mut Cells) {
        self.mode = Mode::Prefix(end);
        if let Base::Layers(layers) = &mut self.base {
            let Some(&(length, rest)) = layers.last() else { return };
            let before = layers.capacity();
            layers.insert(layers.len() - 1, (end, cells.copied(rest)));
            debug_assert!(end < length);
            cells.index_bytes += (layers.capacity() - before) * size_of::<(u64, CellId)>();
            return;
        }
        let split = match self.base {
            Base::Parts(Partition::Split(at), _) if at < end => Some(at),
            _ => None,
        };
        let ends = split.into_iter().chain([end, self.length]);
        let layers: Vec<_> =
            ends.filter_map(|end| Some((end, cells.copied(self.base_cell(end - 1)?)))).collect();
        cells.index_bytes += layers.capacity() * size_of::<(u64, CellId)>();
        self.replace_base(Base::Layers(layers), cells);
    }

    /// The cell of the elements of a prefix that do not stand alone.
    fn rest(&self) -> Option<CellId> {
        match &self.base {
            Base::Layers(layers) => layers.last().map(|&(_, rest)| rest),
            _ => None,
        }
    }

    /// Gives every element a label; or lets it stand alone if there would be too many classes.
    fn label(&mut self, room: &mut Room<'_>) {
        match Classes::new(self.length, |local| self.base_cell(local), room.cells) {
            Some(classes) => {
                self.replace_base(Base::Classes(Box::new(classes)), room.cells);
                self.mode = Mode::Classes;
            }
            None => self.make_fine(room),
        }
    }

    /// Lets all elements share their cell again if they have one label. Returns whether they do.
    pub(super) fn make_coarse(&mut self, cells: &mut Cells) -> bool {
        let (Mode::Classes, Base::Classes(classes)) = (self.mode, &self.base) else { return false };
        if !classes.is_one() {
            return false;
        }
        let cell = cells.copied(classes.cell_of(0));
        self.replace_base(Base::Parts(Partition::Coarse, cell), cells);
        self.mode = Mode::Parts;
        true
    }

    /// The cell of an element's part.
    fn base_cell(&self, local: u64) -> Option<CellId> {
        match &self.base {
            Base::Nothing => None,
            Base::Parts(partition, first) => Some(first.plus(partition.part_of(local))),
            Base::Layers(layers) => layers.iter().find(|(end, _)| local < *end).map(|&(_, cell)| cell),
            Base::Classes(classes) => Some(classes.cell_of(local)),
        }
    }

    fn replace_base(&mut self, base: Base, cells: &mut Cells) {
        match std::mem::replace(&mut self.base, base) {
            Base::Nothing => {}
            Base::Parts(partition, first) => cells.give_back(first, partition.parts(self.length)),
            Base::Layers(layers) => {
                cells.index_bytes -= layers.capacity() * size_of::<(u64, CellId)>();
                layers.into_iter().for_each(|(_, cell)| cells.give_back(cell, 1));
            }
            Base::Classes(classes) => classes.give_back(cells),
        }
    }
}

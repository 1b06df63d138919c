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
//!   I3  Elements below `floor` are never accessed here, so nothing depends on their parts. They are there so that blocks and remainders of all
//!       stretches are counted from element 0. Labels count only the others.
//! **Limits.** Lengths come from the input. So a partition never has more parts than the trace has named elements of the array, labels no more
//! entries than eight times that, and own cells are those of variables.

use overtake_trace::VarId;

use super::cells::{Accessor, CellId, Cells};
use super::extended::Classes;
use super::footprint::Taken;
use super::labelled::{Frozen, Labelled};
use super::limits::Room;
use super::partition::Partition;
use super::range::StridedRange;
use super::reports::{PartSink, Unheard};
use crate::hb::history::RaceSink;

/// How many labels take about as much as a cell.
pub(super) const LABELS_PER_CELL: u64 = 32;

/// So many labels are worth it for each element that the trace has named.
const LABELS_PER_ELEMENT: u64 = 8;

/// Labels are for every eighth element at most: recorded memory has a word of so many bytes.
const MOST_SHIFT: u32 = 3;

/// This many parts are always allowed.
const FEW: u64 = 64;

/// So few parts are looked at before and after each footprint: it may change nothing, and they may have become alike.
const FEW_ALIKE: u64 = 4;

/// Footprints on labels that are shorter than this are not worth collecting.
const SHORT: u64 = 4;

/// After this many short footprints more than long ones, which count more the longer they are, labels are looked up access by access.
const MANY_SHORT: u32 = 32;

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
    /// The same, of classes that change no more.
    Frozen(Box<Frozen>),
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

/// Elements `start` to `start + length` of an array. Programs have many arrays of one stretch, so it is kept small.
#[derive(Debug)]
pub(super) struct Segment {
    start: u64,
    length: u64,
    /// So many of the first elements are never accessed here: they are variables like any other (I3).
    floor: u64,
    mode: Mode,
    base: Base,
    /// How many elements are settled.
    settled: u64,
    /// Short footprints on labels, less as many as would be in the long ones.
    short: u32,
}

const _: () = assert!(size_of::<Segment>() <= 88);

impl Segment {
    /// A stretch that was never accessed.
    pub(super) fn new((start, length, floor): (u64, u64, u64), cells: &mut Cells) -> Segment {
        debug_assert!(length > floor);
        let base = Base::Parts(Partition::Coarse, cells.allocate(1));
        Segment { start, length, floor, mode: Mode::Parts, base, settled: 0, short: 0 }
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.length
    }

    /// Whether accesses are collected in footprints.
    #[inline]
    pub(super) fn collects(&self) -> bool {
        match self.mode {
            Mode::Parts => true,
            Mode::Classes => self.short < MANY_SHORT,
            Mode::Prefix(_) | Mode::Fine => false,
        }
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
        let local = self.down_to_start(local);
        if room.limits.labels_from.is_some() && self.changes_nothing(local, accessor, room.cells) {
            return;
        }
        self.make_precise(local, room);
        match (self.mode, &mut self.base) {
            (Mode::Parts, &mut Base::Parts(partition, first)) => {
                let parts = partition.parts_in(local);
                for part in parts.iter() {
                    let cell = first.plus(part);
                    match self.accessed(partition.part(self.length, part)) {
                        Some(accessed) => {
                            self.name(accessed, races);
                            room.cells.judge(cell, accessor, races);
                        }
                        None => room.cells.judge(cell, accessor, &mut Unheard), // I3
                    }
                }
                let is_worth_a_look = parts.len() > 1 || partition.parts(self.length) <= FEW_ALIKE;
                if room.limits.labels_from.is_some() && is_worth_a_look {
                    self.coarsen(partition, first, room.cells);
                }
            }
            (Mode::Classes, Base::Classes(_)) => {
                self.commit_labelled(footprint, local, accessor, room, races);
            }
            _ => self.commit_singles(footprint, local, accessor, room, races),
        }
    }

    /// Whether it is seen at once that a footprint changes nothing. Then no parts need be made for it, which might have to be one part again.
    fn changes_nothing(&self, local: StridedRange, accessor: Accessor<'_>, cells: &Cells) -> bool {
        let (Mode::Parts, &Base::Parts(partition, first)) = (self.mode, &self.base) else { return false };
        let parts = match partition {
            Partition::Coarse => 1,
            Partition::Stride(stride) if local.step.is_multiple_of(stride) => 1,
            _ => local.len(),
        };
        let cell = |element| first.plus(partition.part_of(element));
        let mut elements = local.iter().take(parts as usize);
        parts <= FEW_ALIKE && elements.all(|at| cells.knows(cell(at), accessor.epoch, accessor.writes()))
    }

    /// Lets a footprint that begins with the first elements that are accessed here begin with those that are not as well (I3).
    fn down_to_start(&self, local: StridedRange) -> StridedRange {
        match self.floor > 0 && local.first < self.floor + local.step && local.first >= local.step {
            true => StridedRange { first: local.first % local.step, ..local },
            false => local,
        }
    }

    /// Judges elements by their labels, those with the same label together.
    fn commit_labelled(
        &mut self,
        footprint: &Taken,
        local: StridedRange,
        accessor: Accessor<'_>,
        room: &mut Room<'_>,
        races: &mut impl PartSink,
    ) {
        let (start, end) = (self.start, self.end());
        self.short = match local.len() < SHORT && !room.limits.sets {
            true => self.short + 1,
            false => self.short.saturating_sub((local.len() / SHORT).try_into().unwrap_or(u32::MAX)),
        };
        let Base::Classes(classes) = &mut self.base else { return };
        if !footprint.continues {
            classes.begin_footprint();
        }
        let has_labels = classes.make_room_for(local, room.cells);
        let mut at = local.first.max(self.floor);
        while has_labels && let Some(rest) = local.within(at, self.length) {
            let next = at + rest.first;
            let single = StridedRange::single(start + next);
            races.about(single, end);
            at = match classes.judge_run(next, local.last, local.step, accessor, room.cells, races) {
                Some(done) => done,
                None => break,
            };
        }
        if at > local.last {
            self.regularise(room.cells);
            return;
        }
        // There are too many classes: the others stand alone.
        self.make_fine(room);
        for (index, var) in footprint.elements(start + at, end) {
            self.name(StridedRange::single(index - start), races);
            let cell = self.settle(index, var, room);
            room.cells.judge(cell, accessor, races);
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
            let rest_of_all = StridedRange::interval(end, self.length);
            self.name(self.accessed(rest_of_all).unwrap_or(rest_of_all), races);
            room.cells.judge(rest, accessor, races);
        }
    }

    /// The labels, if elements have them and are looked up one by one.
    #[inline]
    pub(super) fn labels(&mut self) -> Option<&mut Classes> {
        match (self.mode, &mut self.base) {
            (Mode::Classes, Base::Classes(classes)) if self.short >= MANY_SHORT => Some(classes),
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
            self.regularise(room.cells);
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
        self.forget_parts_if_settled(room.cells);
        cell
    }

    /// Settles the elements from `first` on, each `distance` from the one before, which are the variables of a page in order and stand alone.
    pub(super) fn settle_page(&mut self, (first, distance): (u64, u64), page: usize, room: &mut Room<'_>) {
        let local = first - self.start;
        let history = |offset: u64| self.base_cell(local + offset * distance);
        self.settled += room.own.settle_page(page, history, room.cells);
        self.forget_parts_if_settled(room.cells);
    }

    fn forget_parts_if_settled(&mut self, cells: &mut Cells) {
        if self.settled == self.length - self.floor {
            self.replace_base(Base::Nothing, cells);
        }
    }

    /// Lets every element stand alone from now on.
    pub(super) fn make_fine(&mut self, room: &mut Room<'_>) {
        if self.mode == Mode::Fine {
            return;
        }
        self.mode = Mode::Fine;
        self.base = match std::mem::replace(&mut self.base, Base::Nothing) {
            Base::Classes(classes) => Base::Frozen(Box::new(classes.freeze(room.cells))),
            base => base,
        };
    }

    /// How many cells the stretch has.
    pub(super) fn cells(&self) -> u64 {
        let base = match &self.base {
            Base::Nothing => 0,
            Base::Parts(partition, _) => partition.parts(self.length),
            Base::Layers(layers) => layers.len() as u64,
            Base::Classes(classes) => classes.populated() as u64,
            Base::Frozen(frozen) => frozen.cells() as u64,
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
            (_, Base::Parts(Partition::Grid { .. }, _)) => "grid",
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
        if room.limits.sets {
            return self.make_sets(local, room);
        }
        let refined = match room.limits.labels_from {
            Some(_) => partition.refine_further(self.length, local),
            None => partition.refine(self.length, local),
        };
        if refined != partition {
            self.adopt(refined, local, room);
        }
    }

    /// Gives every element a label from the start.
    fn make_sets(&mut self, local: StridedRange, room: &mut Room<'_>) {
        let labelled = self.labelled(local, room.cells);
        match labelled.labels() <= 2 * room.limits.variables.max(FEW) {
            true => self.label(labelled, room),
            false => self.make_fine(room),
        }
    }

    /// Changes to a finer partition, which is precise for `local`. Instead of elements that stand alone there may be labels, and instead of parts where
    /// labels take less than their cells.
    fn adopt(&mut self, refined: Partition, local: StridedRange, room: &mut Room<'_>) {
        let few = room.limits.elements.max(FEW);
        let parts = refined.parts(self.length);
        if let (Mode::Parts, Some(least)) = (self.mode, room.limits.labels_from) {
            let labelled = self.labelled(local, room.cells);
            let labels = labelled.labels();
            let is_prefix = matches!(refined, Partition::Prefix(_));
            if (least..=LABELS_PER_ELEMENT * few).contains(&labels)
                && (is_prefix || parts > labels / LABELS_PER_CELL)
            {
                return self.label(labelled, room);
            }
            // Parts of a single element are no better than elements that stand alone.
            if 2 * (parts >> labelled.shift) > labels {
                return self.make_fine(room);
            }
        }
        match refined {
            Partition::Prefix(end) => self.lengthen_prefix(end, room.cells),
            Partition::Block(_) | Partition::Stride(_) | Partition::Split(_) | Partition::Grid { .. }
                if parts <= few =>
            {
                self.change_parts(refined, room.cells);
            }
            _ => self.make_fine(room),
        }
    }

    /// Changes to a partition in which each part has elements of one history only.
    fn change_parts(&mut self, partition: Partition, cells: &mut Cells) {
        let parts = partition.parts(self.length);
        let first = cells.allocate(parts);
        for part in 0..parts {
            if let Some(source) = self.base_cell(self.member(partition.part(self.length, part))) {
                cells.fill(source, first.plus(part));
            }
        }
        self.replace_base(Base::Parts(partition, first), cells);
        self.mode = Mode::Parts;
    }

    /// The elements of a part that can be accessed here.
    fn accessed(&self, part: StridedRange) -> Option<StridedRange> {
        let StridedRange { first, last, step } = part.within(self.floor, self.length)?;
        Some(StridedRange { first: first + self.floor, last: last + self.floor, step })
    }

    /// An element of a part, one that can be accessed here if there is one.
    fn member(&self, part: StridedRange) -> u64 {
        self.accessed(part).unwrap_or(part).first
    }

    /// Goes back to the coarsest partition whose parts have one history each.
    fn coarsen(&mut self, partition: Partition, first: CellId, cells: &mut Cells) {
        let parts = partition.parts(self.length);
        // The part that is kept for all that are in one part of a coarser partition.
        let kept = |coarser: Partition, part: u64| {
            let of = coarser.part_of(partition.part(self.length, part).first);
            first.plus(partition.part_of(coarser.part(self.length, of).first))
        };
        let is_alike =
            |coarser: &Partition| (1..parts).all(|part| cells.same(kept(*coarser, part), first.plus(part)));
        let Some(coarser) = partition.coarser().find(is_alike) else { return };
        for part in 0..parts {
            cells.take_earlier_places(kept(coarser, part), first.plus(part));
        }
        self.change_parts(coarser, cells);
    }

    /// Takes over the stretch behind this one if both together are as regular as each.
    pub(super) fn absorb(&mut self, next: &mut Segment, cells: &mut Cells) -> bool {
        let (&Base::Parts(partition, first), &Base::Parts(its, its_first)) = (&self.base, &next.base) else {
            return false;
        };
        let (is_alike, parts) = match partition {
            Partition::Coarse => (its == Partition::Coarse, 1),
            Partition::Stride(stride) => (its == partition, stride),
            _ => (false, 0),
        };
        // Remainders are counted from the start of each stretch.
        let counterpart = |part: u64| its_first.plus((part + parts - self.length % parts) % parts);
        let modes = (self.mode, next.mode);
        if !is_alike
            || modes != (Mode::Parts, Mode::Parts)
            || !(0..parts).all(|part| cells.same(first.plus(part), counterpart(part)))
        {
            return false;
        }
        for part in 0..parts {
            cells.take_earlier_places(first.plus(part), counterpart(part));
        }
        self.length += next.length;
        next.replace_base(Base::Nothing, cells);
        true
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

    /// Which elements need labels if those of `local` are accessed: all that have a history, and these.
    fn labelled(&self, local: StridedRange, cells: &Cells) -> Labelled {
        let of_shift = |shift| Labelled { length: self.length, floor: self.floor, shift };
        let shifts = (1..=MOST_SHIFT).rev().filter(|&shift| of_shift(shift).has(local));
        of_shift(shifts.into_iter().find(|&shift| self.has_only_units(1 << shift, cells)).unwrap_or(0))
    }

    /// Whether only elements that a unit divides have a history.
    fn has_only_units(&self, unit: u64, cells: &Cells) -> bool {
        let &Base::Parts(partition, first) = &self.base else { return false };
        let mut others = partition.parts_beside(unit, self.length);
        others.all(|part| cells.is_blank(first.plus(part)))
    }

    /// Gives elements labels; or lets them stand alone if there would be too many classes.
    fn label(&mut self, labelled: Labelled, room: &mut Room<'_>) {
        match Classes::new(labelled, !room.limits.sets, |local| self.base_cell(local), room.cells) {
            Some(classes) => {
                self.replace_base(Base::Classes(Box::new(classes)), room.cells);
                self.mode = Mode::Classes;
                self.short = 0;
            }
            None => self.make_fine(room),
        }
    }

    /// Goes back from labels to parts, if labels are as regular as parts. Returns whether it does.
    pub(super) fn regularise(&mut self, cells: &mut Cells) -> bool {
        let (Mode::Classes, Base::Classes(classes)) = (self.mode, &mut self.base) else { return false };
        let Some(partition) = classes.as_parts() else { return false };
        self.change_parts(partition, cells);
        true
    }

    /// The cell of an element's part.
    fn base_cell(&self, local: u64) -> Option<CellId> {
        match &self.base {
            Base::Nothing => None,
            Base::Parts(partition, first) => Some(first.plus(partition.part_of(local))),
            Base::Layers(layers) => layers.iter().find(|(end, _)| local < *end).map(|&(_, cell)| cell),
            Base::Classes(classes) => classes.cell_of(local),
            Base::Frozen(frozen) => frozen.cell_of(local),
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
            Base::Frozen(frozen) => frozen.give_back(cells),
        }
    }
}

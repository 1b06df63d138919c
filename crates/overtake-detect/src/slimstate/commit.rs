//! One stretch of an array: its partition, its cells, and how footprints are committed to them.
//!
//! **State.** While elements are treated together, one run of cells for the parts. Once some or all elements stand alone
//! ([`Partition::Prefix`], [`Partition::Fine`]), these have pages of cells, which are made when an element of the page is
//! first needed and get the history of the part that the element was in; so an array becomes fine at no cost, and what
//! is never touched again has no cell of its own.
//! **Invariants.**
//!   I1  The history of an element is that of its cell in its page if it stands alone and has a page; else that of its part
//!       in `base`.
//!   I2  With a prefix of `i` elements, all of them have pages, and `base` is one part, that of the elements from `i` on.
//! **Limits.** Lengths come from the input. So a partition never has more parts than the trace has variables, labels no more
//! entries than four times that, and pages exist only where elements were accessed.

use rustc_hash::FxHashMap;

use super::cells::{Accessor, CellId, Cells};
use super::extended::Classes;
use super::partition::Partition;
use super::range::StridedRange;
use crate::hb::history::RaceSink;

/// Elements of a page: as many as variables of a page of the detector's table. So few in tests that small traces fill
/// pages.
pub(super) const PAGE: u64 = if cfg!(test) { 4 } else { 64 };

/// How many labels take about as much as a cell. Fewer in tests, so that small arrays have prefixes before labels.
const LABELS_PER_CELL: u64 = if cfg!(test) { 3 } else { 16 };

/// What the representation of arrays may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Arrays shorter than this are not compressed.
    pub(super) small: u64,
    /// Stretches from this length on may be labelled instead of fine; `None` for none.
    pub(super) labels_from: Option<u64>,
    /// Variables of the trace so far.
    pub(super) variables: u64,
}

/// How elements find their cells.
#[derive(Debug)]
enum Base {
    /// Every page has been made.
    Nothing,
    /// A cell per part.
    Parts(Partition, CellId),
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
    /// Added to indices to get places, so that pages of places are pages of variables.
    shift: u64,
    mode: Mode,
    base: Base,
    /// By number, the cell of a page's first place, whether or not the stretch reaches that far down.
    pages: FxHashMap<u64, CellId>,
    page_cells: u64,
}

/// Where races of a part go.
pub(super) trait PartSink: RaceSink<CellId> {
    /// Names the indices, counted from 0, that the next race is about, and where their stretch ends.
    fn about(&mut self, part: StridedRange, end: u64);
}

impl Segment {
    /// A stretch that was never accessed.
    pub(super) fn new(start: u64, length: u64, shift: u64, cells: &mut Cells) -> Segment {
        debug_assert!(length > 0);
        let base = Base::Parts(Partition::Coarse, cells.allocate(1));
        Segment { start, length, shift, mode: Mode::Parts, base, pages: FxHashMap::default(), page_cells: 0 }
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.length
    }

    /// Whether accesses are collected in footprints.
    #[inline]
    pub(super) fn collects(&self) -> bool {
        self.mode == Mode::Parts
    }

    /// Whether elements have labels.
    #[inline]
    pub(super) fn is_labelled(&self) -> bool {
        self.mode == Mode::Classes
    }

    /// Judges the elements of `footprint` that lie in this stretch.
    pub(super) fn commit(
        &mut self,
        footprint: StridedRange,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        limits: Limits,
        races: &mut impl PartSink,
    ) {
        let Some(local) = footprint.within(self.start, self.end()) else { return };
        self.make_precise(local, cells, limits);
        match (self.mode, &self.base) {
            (Mode::Parts, &Base::Parts(partition, first)) => {
                for part in partition.parts_in(local).iter() {
                    self.name(partition.part(self.length, part), races);
                    cells.judge(first.plus(part), accessor, races);
                }
            }
            (Mode::Prefix(end), &Base::Parts(_, rest)) => {
                let singles = local.within(0, end).into_iter().flat_map(StridedRange::iter);
                singles.for_each(|index| self.commit_single(index, accessor, cells, races));
                if local.last >= end {
                    self.name(StridedRange::interval(end, self.length), races);
                    cells.judge(rest, accessor, races);
                }
            }
            (Mode::Classes, _) => {
                for index in local.iter() {
                    self.name(StridedRange::single(index), races);
                    if let Base::Classes(classes) = &mut self.base {
                        classes.forget_steps(index); // the footprint may be older than they are
                    }
                    self.move_labelled(index, accessor, cells, races);
                }
            }
            _ => local.iter().for_each(|index| self.commit_single(index, accessor, cells, races)),
        }
    }

    /// Judges an access to an element of a stretch that does not collect footprints.
    #[inline]
    pub(super) fn judge_element(
        &mut self,
        index: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        limits: Limits,
        races: &mut impl RaceSink<CellId>,
    ) {
        if let Mode::Prefix(end) = self.mode
            && index - self.start >= end
        {
            self.make_precise(StridedRange::single(index - self.start), cells, limits); // maybe by labels
        }
        if self.mode != Mode::Classes {
            let cell = self.single_cell(index, cells, limits);
            return cells.judge(cell, accessor, races);
        }
        self.move_labelled(index - self.start, accessor, cells, races);
        if let Base::Classes(classes) = &self.base
            && classes.is_one()
        {
            self.make_coarse(cells);
        }
    }

    /// Judges an access to an element by its label. If there are too many classes, elements stand alone from here on.
    #[inline]
    fn move_labelled(
        &mut self,
        local: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        races: &mut impl RaceSink<CellId>,
    ) {
        if let (Mode::Classes, Base::Classes(classes)) = (self.mode, &mut self.base) {
            if classes.judge(local, accessor, cells, races) {
                return;
            }
            self.mode = Mode::Fine;
        }
        let cell = self.page_cell(local, cells);
        cells.judge(cell, accessor, races);
    }

    /// The cell of an element that stands alone, or is all of the rest of a prefix and will stand alone from now on.
    pub(super) fn single_cell(&mut self, index: u64, cells: &mut Cells, limits: Limits) -> CellId {
        debug_assert!(matches!(self.mode, Mode::Fine | Mode::Prefix(_)));
        let local = index - self.start;
        if let Mode::Prefix(end) = self.mode
            && local >= end
        {
            debug_assert!(end + 1 == self.length);
            self.make_fine(cells, limits);
        }
        self.page_cell(local, cells)
    }

    /// Lets every element stand alone from now on.
    pub(super) fn make_fine(&mut self, cells: &mut Cells, limits: Limits) {
        if let Mode::Prefix(end) = self.mode {
            // The last page of the prefix may reach into the rest.
            let lowest = self.start + self.shift;
            let page_end = (end + lowest).next_multiple_of(PAGE) - lowest;
            self.leave_rest(end..page_end.min(self.length), cells);
        }
        self.mode = Mode::Fine;
        if self.length <= limits.variables {
            cells.make_room(self.length - self.page_cells);
            let lowest = self.start + self.shift;
            for number in lowest / PAGE..=(lowest + self.length - 1) / PAGE {
                if !self.pages.contains_key(&number) {
                    self.make_page(number, cells);
                }
            }
        }
    }

    /// How many elements stand alone from now on. With labels in reach a prefix may still be labelled.
    fn alone_for_good(&self, limits: Limits) -> u64 {
        match self.mode {
            Mode::Fine => self.length,
            Mode::Prefix(end) if limits.labels_from.is_none() => end,
            _ => 0,
        }
    }

    /// Whether the element will have the cell that it has now, or will be given, to the end.
    #[inline]
    pub(super) fn is_alone_for_good(&self, index: u64, limits: Limits) -> bool {
        index - self.start < self.alone_for_good(limits)
    }

    /// The first cell of the page of `index`, if the page is whole and its elements stand alone for good.
    pub(super) fn first_cell_of_page(&self, index: u64, limits: Limits) -> Option<CellId> {
        let place = index + self.shift;
        let origin = *self.pages.get(&(place / PAGE))?;
        let first = (place / PAGE * PAGE).checked_sub(self.shift)?;
        let whole = first >= self.start && first + PAGE <= self.start + self.alone_for_good(limits);
        whole.then_some(origin)
    }

    /// How many cells the stretch has.
    pub(super) fn cells(&self) -> u64 {
        let base = match &self.base {
            Base::Nothing => 0,
            Base::Parts(partition, _) => partition.parts(self.length),
            Base::Classes(classes) => classes.live() as u64,
        };
        base + self.page_cells
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

    fn commit_single(
        &mut self,
        local: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        races: &mut impl PartSink,
    ) {
        self.name(StridedRange::single(local), races);
        let cell = self.page_cell(local, cells);
        cells.judge(cell, accessor, races);
    }

    /// Refines the partition so that `local` is a union of parts.
    fn make_precise(&mut self, local: StridedRange, cells: &mut Cells, limits: Limits) {
        let partition = match (self.mode, &self.base) {
            (Mode::Parts, &Base::Parts(partition, _)) => partition,
            (Mode::Prefix(end), _) => Partition::Prefix(end),
            _ => return,
        };
        let refined = partition.refine(self.length, local);
        if refined != partition {
            self.adopt(refined, cells, limits);
        }
    }

    /// Changes to a finer partition, or to labels where they are allowed and take less than the cells of the parts.
    fn adopt(&mut self, refined: Partition, cells: &mut Cells, limits: Limits) {
        let few = limits.variables.max(PAGE);
        let parts = refined.parts(self.length);
        let may_label = limits.labels_from.is_some_and(|least| (least..=4 * few).contains(&self.length));
        if may_label && parts > self.length / LABELS_PER_CELL {
            return self.label(cells, limits);
        }
        match refined {
            Partition::Prefix(end) if parts <= few => self.lengthen_prefix(end, cells),
            Partition::Block(_) | Partition::Stride(_) | Partition::Split(_) if parts <= few => {
                self.split_parts(refined, cells);
            }
            _ => self.make_fine(cells, limits),
        }
    }

    fn split_parts(&mut self, refined: Partition, cells: &mut Cells) {
        let parts = refined.parts(self.length);
        let first = cells.allocate(parts);
        for part in 0..parts {
            if let Some(source) = self.base_cell(refined.part(self.length, part).first) {
                cells.fill(source, first.plus(part), 1);
            }
        }
        self.replace_base(Base::Parts(refined, first), cells);
    }

    /// Lets the elements below `end` stand alone (I2).
    fn lengthen_prefix(&mut self, end: u64, cells: &mut Cells) {
        if let Mode::Prefix(before) = self.mode {
            self.leave_rest(before..end, cells);
        } else {
            (0..end).for_each(|local| {
                self.page_cell(local, cells);
            });
            let rest = cells.allocate(1);
            if let Some(source) = self.base_cell(self.length - 1) {
                cells.copy(source, rest);
            }
            self.replace_base(Base::Parts(Partition::Coarse, rest), cells);
        }
        self.mode = Mode::Prefix(end);
    }

    /// Gives elements of the rest of a prefix cells of their own. Pages that reach into the rest have stale ones.
    fn leave_rest(&mut self, elements: std::ops::Range<u64>, cells: &mut Cells) {
        let Base::Parts(_, rest) = self.base else { return };
        for local in elements {
            let cell = self.page_cell(local, cells);
            cells.copy(rest, cell);
        }
    }

    /// Gives every element a label; or lets it stand alone if there would be too many classes.
    fn label(&mut self, cells: &mut Cells, limits: Limits) {
        let alone = if let Mode::Prefix(end) = self.mode { end } else { 0 };
        let lowest = self.start + self.shift;
        let cell_of = |local: u64| match self.pages.get(&((local + lowest) / PAGE)) {
            Some(origin) if local < alone => Some(origin.plus((local + lowest) % PAGE)),
            _ => self.base_cell(local),
        };
        match Classes::new(self.length, cell_of, cells) {
            Some(classes) => {
                self.replace_base(Base::Classes(Box::new(classes)), cells);
                self.drop_pages(cells);
                self.mode = Mode::Classes;
            }
            None => self.make_fine(cells, limits),
        }
    }

    /// Gives the cells of all pages back. Nobody may have been told of them.
    fn drop_pages(&mut self, cells: &mut Cells) {
        cells.index_bytes -= self.pages.capacity() * size_of::<(u64, CellId)>();
        for (number, origin) in std::mem::take(&mut self.pages) {
            let places = self.places_of(number);
            cells.give_back(origin.plus(places.start - number * PAGE), places.end - places.start);
        }
        self.page_cells = 0;
    }

    /// The places of a page that belong to the stretch.
    fn places_of(&self, number: u64) -> std::ops::Range<u64> {
        let lowest = self.start + self.shift;
        (number * PAGE).max(lowest)..((number + 1) * PAGE).min(lowest + self.length)
    }

    fn make_coarse(&mut self, cells: &mut Cells) {
        let Base::Classes(classes) = &self.base else { return };
        let cell = cells.allocate(1);
        cells.copy(classes.cell_of(0), cell);
        self.replace_base(Base::Parts(Partition::Coarse, cell), cells);
        self.mode = Mode::Parts;
    }

    /// The cell of an element's part.
    fn base_cell(&self, local: u64) -> Option<CellId> {
        match &self.base {
            Base::Nothing => None,
            Base::Parts(partition, first) => Some(first.plus(partition.part_of(local))),
            Base::Classes(classes) => Some(classes.cell_of(local)),
        }
    }

    fn replace_base(&mut self, base: Base, cells: &mut Cells) {
        match std::mem::replace(&mut self.base, base) {
            Base::Nothing => {}
            Base::Parts(partition, first) => cells.give_back(first, partition.parts(self.length)),
            Base::Classes(classes) => classes.give_back(cells),
        }
    }

    /// The cell in the page of an element that stands alone.
    fn page_cell(&mut self, local: u64, cells: &mut Cells) -> CellId {
        let place = local + self.start + self.shift;
        if let Some(origin) = self.pages.get(&(place / PAGE)) {
            return origin.plus(place % PAGE);
        }
        self.make_page(place / PAGE, cells).plus(place % PAGE)
    }

    /// Makes the cells of a page, with the histories of the parts that its elements were in (I1).
    #[cold]
    fn make_page(&mut self, number: u64, cells: &mut Cells) -> CellId {
        let lowest = self.start + self.shift;
        let std::ops::Range { start: from, end: to } = self.places_of(number);
        let first = cells.allocate(to - from);
        for place in from..to {
            if let Some(source) = self.base_cell(place - lowest) {
                cells.fill(source, first.plus(place - from), 1);
            }
        }
        let origin = CellId(first.0.wrapping_sub((from - number * PAGE) as u32));
        let before = self.pages.capacity();
        self.pages.insert(number, origin);
        cells.index_bytes += (self.pages.capacity() - before) * size_of::<(u64, CellId)>();
        self.page_cells += to - from;
        if self.page_cells == self.length && self.mode == Mode::Fine {
            self.replace_base(Base::Nothing, cells);
        }
        origin
    }
}

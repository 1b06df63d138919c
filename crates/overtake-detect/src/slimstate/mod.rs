//! Happens-before races with array shadow that stays small: elements that are used alike share their state.
//!
//! **Source.** Wilcox, Finch, Flanagan, Freund, *Array Shadow State Compression for Precise Dynamic Race Detection*, ASE 2015.
//! **Answer.** Exactly the variables that race, and of each a pair of accesses that race. A race of elements that share
//! their state is reported once, with all of them, and names the accesses to the first of them.
//! **Idea.** Between two synchronisation operations a thread's clock does not change, so its accesses to an array may be
//! judged together when the next one comes: every happens-before relation is kept by that delay. What is judged together is a
//! *footprint*, a strided range per thread, array and kind of access. The array's elements are partitioned so that each
//! footprint so far is a union of parts, and a part has one cell: one check and one update serve all its elements.
//!
//! | file | holds |
//! | --- | --- |
//! | `range.rs`, `footprint.rs`, `pending.rs` | strided ranges, and what threads have accessed and is not judged yet |
//! | `partition.rs` | partitions and how footprints refine them: the paper's table |
//! | `cells.rs` | the cells, which are FastTrack's |
//! | `locate.rs` | where the state of a variable is |
//! | `commit.rs`, `shadow.rs` | footprints meet partitions; arrays of unknown length |
//! | `extended.rs`, `class.rs`, `labelled.rs` | parts of any form, by labels (unless `--partitions paper`) |
//! | `limits.rs`, `named.rs` | how much may be kept |
//! | `reports.rs`, `naming.rs`, `analysis.rs` | races; if there are any, a second pass finds the accesses that they are between |
//!
//! **Commit points.** Everything pending of a thread is judged before each synchronisation operation of it, acquires too (an
//! acquire changes the clock as well); before its fork and its join by another thread, which change its clock; when the
//! buffer is full; at the end of the trace. A footprint that cannot take an access is judged at once. Relaxed atomics
//! change no clock and are no commit points. Neither is `free`: it conflicts with accesses by the block's variable, which
//! is not an element.
//! **Differs from the paper.** Unless `--partitions paper` asks for the paper's partitions, there are more of them, a thread may have several footprints
//! of a kind on an array, and parts whose histories have become the same
//! are one part again. Small arrays (shorter than `--small-array`, which is the paper's threshold by default) and, where the length is unknown, as many first elements
//! are variables like any other. Cells of single elements are made in pages, on first need. An array with an atomically
//! accessed element becomes fine. Lengths that are not known grow (`shadow.rs`).
//! **Invariants.**
//!   I1  A page says that its variables have cells, or are elements, only if all of them do or are, in order. What shares its
//!       cell with others is not in a page of cells.
//!   I2  Footprints of a thread hold accesses of its present synchronisation-free region only.

mod analysis;
mod cells;
mod class;
mod commit;
mod extended;
mod footprint;
mod labelled;
mod limits;
mod locate;
mod named;
mod naming;
mod own;
mod pages;
mod partition;
mod pending;
mod range;
mod reports;
mod shadow;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use overtake_clock::Epoch;
use overtake_trace::{
    ArrayId, Id, IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId, Variable, Variables,
};

pub(crate) use self::analysis::start;
use self::cells::{Accessor, CellId, Cells, PackedAt, observed};
use self::extended::Followed;
use self::footprint::{Taken, united};
use self::limits::{ArrayLimits, Room};
use self::locate::{Element, Located};
use self::named::Named;
use self::naming::FoundRaces;
use self::own::PAGE;
use self::pages::{Order, Row, VarPage};
use self::pending::{Collected, MOST_STREAMS, Most, Pending};
use self::reports::{OnElement, OnPart, OnVariable, Reports};
use self::shadow::Shadow;
use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::extent::Extent;
use crate::findings::Findings;
use crate::hb::SyncClocks;
use crate::settings::{Options, Partitions};
use crate::visitor::Touch;

/// Shortest stretch that is worth labels.
const LEAST_LABELLED: u64 = 64;
/// Elements from this index on are variables like any other, so that arithmetic on indices cannot overflow.
const HUGE: u64 = 1 << 48;

impl ArrayLimits {
    fn of(options: &Options) -> ArrayLimits {
        let labels_from = match options.partitions {
            Partitions::Paper | Partitions::Sets => None,
            Partitions::Extended => Some(LEAST_LABELLED),
        };
        ArrayLimits {
            small: options.small_array,
            labels_from,
            sets: options.partitions == Partitions::Sets,
            set_footprints: options.set_footprints,
            most: Most {
                arrays: usize::try_from(options.commit_buffer).unwrap_or(usize::MAX),
                streams: if labels_from.is_some() { MOST_STREAMS } else { 1 },
            },
            variables: 0,
            elements: 0,
        }
    }
}

/// What is known of an array: nothing, that it is small, or its shadow.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum ArrayKind {
    #[default]
    Unseen,
    Small,
    Shadowed(u32),
}

/// How many heap blocks are known to have been read in the present epoch of a thread.
const KNOWN_BLOCKS: usize = 8;

/// Heap blocks that a thread has read, each with the epoch.
#[derive(Clone, Copy, Debug)]
struct ReadBlocks([(VarId, Epoch); KNOWN_BLOCKS]);

impl Default for ReadBlocks {
    fn default() -> Self {
        ReadBlocks([(VarId(0), Epoch::NONE); KNOWN_BLOCKS])
    }
}

/// The detector.
#[derive(Debug)]
pub(crate) struct SlimState {
    clocks: SyncClocks,
    cells: Cells,
    /// What the variables are, by pages (I1).
    pages: Vec<VarPage>,
    arrays: IdVec<ArrayId, ArrayKind>,
    shadows: Vec<Shadow>,
    /// Variables that are elements in order, by the pages that are in them.
    rows: Vec<Row>,
    pending: IdVec<ThreadId, Pending>,
    /// Of footprints that are sets of any form, the ranges that were not the latest, each with its array and whether it was written.
    kept: IdVec<ThreadId, Vec<(u32, bool, Taken)>>,
    blocks: IdVec<ThreadId, ReadBlocks>,
    reports: Reports,
    limits: ArrayLimits,
    named: Named,
    /// How many elements are divided in each of the [`MODES`], once that was counted.
    elements: [u64; MODES.len()],
}

impl SlimState {
    fn new(limits: ArrayLimits) -> SlimState {
        SlimState {
            clocks: SyncClocks::default(),
            cells: Cells::default(),
            pages: Vec::new(),
            arrays: IdVec::new(),
            shadows: Vec::new(),
            rows: Vec::new(),
            pending: IdVec::new(),
            kept: IdVec::new(),
            blocks: IdVec::new(),
            reports: Reports::default(),
            limits,
            named: Named::default(),
            elements: [0; MODES.len()],
        }
    }

    /// A plain access to what was located.
    #[inline(always)]
    fn plain(&mut self, at: At, touch: Touch<'_>, located: Located, races: &mut Findings) {
        let Touch { var, kind, variables, .. } = touch;
        match located {
            Located::Collected => {}
            Located::Shared(element) => {
                if !self.follow_label(at.thread, element, kind) {
                    self.access_element(PackedAt::new(at), var, element, kind, variables);
                }
            }
            Located::Cell(cell) => {
                let clock = self.clocks.thread(at.thread);
                if !self.cells.take_ordered(cell, clock, at, kind) {
                    self.access_own(PackedAt::new(at), var, cell, kind, races);
                }
            }
        }
    }

    /// An access reads the heap block that it goes to as well.
    ///
    /// Once in an epoch is enough: a free that races with a later access of the epoch races with the first one as well.
    #[inline(always)]
    fn read_block(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        if let Some(block) = touch.block {
            let epoch = self.clocks.thread(at.thread).epoch();
            let known = &mut self.blocks[at.thread].0[block.index() % KNOWN_BLOCKS];
            if std::mem::replace(known, (block, epoch)) == (block, epoch) {
                return;
            }
            let located = self.locate(at.thread, block, AccessKind::Read, touch.variables);
            let touch = Touch { var: block, kind: AccessKind::Read, ..touch };
            self.plain(at, touch, located, races);
        }
    }

    /// Takes an access to an element of an array with labels throughout, if it only has to follow another.
    #[inline(always)]
    fn follow_label(&mut self, thread: ThreadId, element: Element, kind: AccessKind) -> bool {
        let Some(classes) = self.shadows[element.shadow as usize].labels() else { return false };
        let epoch = self.clocks.thread(thread).epoch();
        match classes.follow(element.index, epoch, kind.writes(), &mut self.cells) {
            Followed::No => false,
            Followed::Yes => true,
            Followed::AsLast => {
                self.regularise(element);
                true
            }
        }
    }

    /// A plain access to a variable or an element with a cell of its own, where something is unordered or shared.
    #[inline(never)]
    fn access_own(&mut self, at: PackedAt, var: VarId, cell: CellId, kind: AccessKind, races: &mut Findings) {
        let at = at.at();
        let clock = self.clocks.thread(at.thread);
        let accessor = Accessor { clock, epoch: clock.epoch(), access: observed(at, kind) };
        let reports = &mut self.reports;
        self.cells.judge(cell, accessor, &mut OnVariable { var, reports, races });
    }

    /// A plain access to an element whose cell is shared or may change.
    #[inline(never)]
    fn access_element(
        &mut self,
        at: PackedAt,
        var: VarId,
        element: Element,
        kind: AccessKind,
        variables: &Variables,
    ) {
        let entry = &mut self.shadows[element.shadow as usize];
        match entry.collects() || entry.segment(element.index, &mut self.cells).collects() {
            true => self.collect(at, var, element, kind, variables),
            false => self.judge_element(at, var, element, kind),
        }
    }

    /// Lets the elements of a stretch share cells by parts again if their histories are so regular.
    #[inline(never)]
    fn regularise(&mut self, element: Element) {
        let entry = &mut self.shadows[element.shadow as usize];
        let segment = entry.segment(element.index, &mut self.cells);
        if segment.regularise(&mut self.cells) {
            entry.look_again();
        }
    }

    /// Judges an access to an element of a stretch that does not collect footprints.
    #[inline(never)]
    fn judge_element(&mut self, at: PackedAt, var: VarId, element: Element, kind: AccessKind) {
        let (at, Element { shadow, index }) = (at.at(), element);
        let clock = self.clocks.thread(at.thread);
        let accessor = Accessor { clock, epoch: clock.epoch(), access: observed(at, kind) };
        let limits = self.limits_of(shadow);
        let entry = &mut self.shadows[shadow as usize];
        let segment = entry.segment(index, &mut self.cells);
        let Reports { own, found } = &mut self.reports;
        let mut room = Room { cells: &mut self.cells, own, limits };
        segment.judge_element(index, var, accessor, &mut room, &mut OnElement { var, found });
        entry.look_again();
    }

    /// Adds an access to the footprint of its thread.
    #[inline(never)]
    fn collect(
        &mut self,
        at: PackedAt,
        var: VarId,
        element: Element,
        kind: AccessKind,
        variables: &Variables,
    ) {
        let (at, Element { shadow, index }) = (at.at(), element);
        self.named.count(variables);
        let page = var.index() / PAGE;
        let row = self.pages[page].row().map(|row| self.rows[row as usize].order(row, page));
        let entry = &mut self.shadows[shadow as usize];
        let ordered = |before| row.unwrap_or_else(|| entry.in_order((index, var), before, variables));
        let pending = &mut self.pending[at.thread];
        let most = self.limits.most;
        match pending.collect(shadow, (index, var), at, kind.writes(), ordered, most) {
            Collected::Taken => {}
            Collected::Instead(before) if self.limits.set_footprints => {
                self.kept[at.thread].push((shadow, kind.writes(), before));
            }
            Collected::Instead(before) => self.commit_footprint(shadow, &before, kind),
            Collected::Full => {
                self.commit(at.thread);
                self.pending[at.thread].collect(
                    shadow,
                    (index, var),
                    at,
                    kind.writes(),
                    |_| Order::UNKNOWN,
                    most,
                );
            }
        }
    }

    /// An atomic access, to a variable or to an element, which stands alone from then on.
    #[inline(never)]
    fn atomic(&mut self, at: PackedAt, touch: Touch<'_>, order: MemoryOrder, races: &mut Findings) {
        let (at, Touch { var, kind, .. }) = (at.at(), touch);
        if (kind.reads() && order.acquires()) || (kind.writes() && order.releases()) {
            self.commit(at.thread);
        }
        let Some(cell) = self.atomic_cell(at.thread, touch) else { return };
        self.clocks.atomic_acquire(at.thread, var, kind, order);
        let clock = self.clocks.thread(at.thread);
        let accessor = Accessor { clock, epoch: clock.epoch(), access: observed(at, kind) };
        let reports = &mut self.reports;
        self.cells.judge_atomic(cell, accessor, &mut OnVariable { var, reports, races });
        self.read_block(at, touch, races);
        self.clocks.atomic_release(at.thread, var, kind, order);
    }

    /// The cell of what is accessed atomically, alone from now on. There always is one: no footprint takes atomic accesses.
    fn atomic_cell(&mut self, thread: ThreadId, touch: Touch<'_>) -> Option<CellId> {
        let Element { shadow, index } = match self.locate(thread, touch.var, touch.kind, touch.variables) {
            Located::Collected => return None,
            Located::Cell(cell) => return Some(cell),
            Located::Shared(element) => element,
        };
        let limits = self.limits_of(shadow);
        let entry = &mut self.shadows[shadow as usize];
        let segment = entry.segment(index, &mut self.cells);
        let mut room = Room { cells: &mut self.cells, own: &mut self.reports.own, limits };
        segment.make_fine(&mut room);
        let cell = segment.settle(index, touch.var, &mut room);
        entry.look_again();
        Some(cell)
    }

    /// Judges everything that a thread has pending.
    #[inline]
    fn commit(&mut self, thread: ThreadId) {
        if !self.pending[thread].is_empty() {
            self.commit_pending(thread);
        }
    }

    /// Judges footprints, those that were written first: reads of the same elements are then known.
    #[inline(never)]
    fn commit_pending(&mut self, thread: ThreadId) {
        if self.limits.set_footprints {
            return self.commit_sets(thread);
        }
        while let Some((shadow, writes, footprint)) = self.pending[thread].pop() {
            let kind = if writes { AccessKind::Write } else { AccessKind::Read };
            self.commit_footprint(shadow, &footprint, kind);
        }
    }

    /// Judges footprints that are sets of any form.
    #[cold]
    fn commit_sets(&mut self, thread: ThreadId) {
        let mut ranges = std::mem::take(&mut self.kept[thread]);
        while let Some(range) = self.pending[thread].pop() {
            ranges.push(range);
        }
        let mut sets: BTreeMap<(u32, bool), Vec<Taken>> = BTreeMap::new();
        for (shadow, writes, range) in ranges {
            sets.entry((shadow, writes)).or_default().push(range);
        }
        for ((shadow, writes), ranges) in sets.into_iter().rev() {
            let kind = if writes { AccessKind::Write } else { AccessKind::Read };
            for range in united(ranges) {
                self.commit_footprint(shadow, &range, kind);
            }
        }
    }

    fn commit_footprint(&mut self, shadow: u32, footprint: &Taken, kind: AccessKind) {
        let clock = self.clocks.thread(footprint.at.thread);
        let accessor = Accessor { clock, epoch: clock.epoch(), access: observed(footprint.at, kind) };
        let limits = self.limits_of(shadow);
        let entry = &mut self.shadows[shadow as usize];
        let extent = Extent { array: entry.array, first: 0, end: 0, step: 1 };
        let Reports { own, found } = &mut self.reports;
        let mut room = Room { cells: &mut self.cells, own, limits };
        entry.commit(footprint, accessor, &mut room, &mut OnPart { extent, found });
    }

    /// The limits of an array.
    fn limits_of(&self, shadow: u32) -> ArrayLimits {
        ArrayLimits { elements: self.named.of(self.shadows[shadow as usize].array), ..self.limits }
    }

    /// The races of elements, whose accesses are still to be named.
    fn take_found(&mut self) -> FoundRaces {
        std::mem::take(&mut self.reports.found)
    }

    /// Counts the elements of the trace that have a shadow, by how their arrays are divided in the end.
    fn count_elements(&mut self, variables: &Variables) {
        let mut counts = [0; MODES.len()];
        for var in (0..variables.len()).map(VarId::from_index) {
            if let Variable::Element { array, index } = variables.get(var)
                && let Some(&ArrayKind::Shadowed(shadow)) = self.arrays.get(array)
                && !self.shadows[shadow as usize].is_own(index)
            {
                let mode = self.shadows[shadow as usize].mode_name(index);
                let at = MODES.iter().position(|(name, ..)| *name == mode);
                at.into_iter().for_each(|at| counts[at] += 1);
            }
        }
        self.elements = counts;
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let mut cells = [0; MODES.len()];
        for (mode, count) in self.shadows.iter().flat_map(Shadow::cells_by_mode) {
            let at = MODES.iter().position(|(name, ..)| *name == mode);
            at.into_iter().for_each(|at| cells[at] += count);
        }
        let totals = [
            ("race checks", self.cells.checks),
            ("array elements", self.elements.iter().sum()),
            ("array shadow cells", cells.iter().sum()),
        ];
        let elements = MODES.iter().map(|&(_, words, _)| words).zip(self.elements);
        let cells = MODES.iter().map(|&(.., words)| words).zip(cells);
        totals.into_iter().chain(elements.chain(cells).filter(|&(_, count)| count > 0)).collect()
    }
}

/// How stretches of arrays are divided, and how figures call their elements and their cells.
const MODES: [(&str, &str, &str); 8] = [
    ("coarse", "elements in coarse arrays", "cells of coarse arrays"),
    ("block", "elements in blocks", "cells of blocks"),
    ("stride", "elements in strides", "cells of strides"),
    ("grid", "elements in strides of blocks", "cells of strides of blocks"),
    ("split", "elements in split arrays", "cells of split arrays"),
    ("prefix", "elements in prefixed arrays", "cells of prefixed arrays"),
    ("classes", "elements in classes", "cells of classes"),
    ("fine", "elements in fine arrays", "cells of fine arrays"),
];

impl Detector for SlimState {
    const TAKES_SWEEPS: bool = true;

    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.pending.grow_to(sizes.threads);
        if self.limits.set_footprints {
            self.kept.grow_to(sizes.threads);
        }
        self.blocks.grow_to(sizes.threads);
        let pages = sizes.variables.div_ceil(PAGE);
        if pages > self.pages.len() {
            self.pages.resize(pages, VarPage::UNKNOWN);
            self.reports.own.grow_to(pages);
        }
        self.limits.variables = sizes.variables as u64;
    }

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        if let Some(order) = touch.order {
            return self.atomic(PackedAt::new(at), touch, order, races);
        }
        let located = self.locate(at.thread, touch.var, touch.kind, touch.variables);
        self.plain(at, touch, located, races);
        self.read_block(at, touch, races);
    }

    fn sweep(&mut self, at: At, touch: Touch<'_>, count: u32, races: &mut Findings) {
        let mut done = 0;
        while done < count {
            self.access(at.later(done), touch.further(done), races);
            done += 1;
            // All are in one block, which has been read in this epoch now.
            done += self.follow_sweep(at.thread, touch.further(done), count - done);
            done += self.sweep_own(at.later(done), touch.further(done), count - done);
        }
    }

    fn fence(&mut self, at: At, order: MemoryOrder, _: &mut Findings) {
        self.commit(at.thread);
        self.clocks.fence(at.thread, order);
    }

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.commit(at.thread);
        self.clocks.acquire(at.thread, lock, mode);
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.commit(at.thread);
        self.clocks.release(at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.commit(at.thread);
        self.commit(child); // a thread forked late or twice may have something pending
        self.clocks.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.commit(child);
        self.pending[child] = Pending::default(); // it hardly goes on
        self.commit(at.thread);
        self.clocks.join(at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.commit(at.thread);
        self.clocks.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.commit(at.thread);
        self.clocks.wait(at.thread, object);
    }

    fn finish(&mut self, _: &mut Findings) {
        for thread in (0..self.pending.len()).map(ThreadId::from_index) {
            self.commit(thread);
        }
    }

    fn state_bytes(&self) -> usize {
        let pending: usize = self.pending.iter().map(Pending::heap_bytes).sum();
        let kept: usize =
            self.kept.iter().map(|kept| kept.capacity() * size_of::<(u32, bool, Taken)>()).sum();
        let tables = self.pages.capacity() * size_of::<VarPage>()
            + self.reports.own.heap_bytes()
            + self.arrays.table_bytes()
            + self.named.heap_bytes()
            + self.shadows.capacity() * size_of::<Shadow>()
            + self.rows.capacity() * size_of::<Row>()
            + self.pending.table_bytes()
            + self.blocks.table_bytes()
            + self.reports.found.heap_bytes();
        self.clocks.state_bytes() + self.cells.state_bytes() + pending + kept + tables
    }
}

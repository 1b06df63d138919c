//! The shadow cells: one history each, for a variable, an element, or a part of an array.

use overtake_clock::{Epoch, ThreadClock};
use overtake_trace::{EventIndex, Id, LocationId, ThreadId};
use rustc_hash::FxHashMap;

use crate::access::{AccessKind, At};
use crate::hb::history::{Histories, Judged, RaceSink};
use crate::race::Verdict;

/// A shadow cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CellId(pub(super) u32);

impl Id for CellId {
    #[inline]
    fn from_index(index: usize) -> Self {
        CellId(index as u32)
    }
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }
}

impl CellId {
    /// The cell this many places further on.
    #[inline]
    pub(super) fn plus(self, offset: u64) -> CellId {
        CellId(self.0.wrapping_add(offset as u32))
    }
}

/// Who accesses, and the access that is named if there is a race.
#[derive(Clone, Copy)]
pub(super) struct Accessor<'a> {
    pub(super) clock: &'a ThreadClock,
    pub(super) epoch: Epoch,
    pub(super) access: Judged,
}

impl Accessor<'_> {
    pub(super) fn writes(&self) -> bool {
        self.access.kind.writes()
    }
}

/// All cells, given out and taken back in runs.
#[derive(Default, Debug)]
pub(super) struct Cells {
    histories: Histories<false, CellId>,
    /// First cells of free runs, by length. Free cells have no history.
    free: FxHashMap<u64, Vec<CellId>>,
    /// How many accesses, or footprints on parts, were judged.
    pub(super) checks: u64,
    /// Bytes of what refers to cells: labels, layers, tables of classes.
    pub(super) index_bytes: usize,
}

impl Cells {
    /// `count` neighbouring cells without history.
    pub(super) fn allocate(&mut self, count: u64) -> CellId {
        if let Some(first) = self.free.get_mut(&count).and_then(Vec::pop) {
            return first;
        }
        CellId::from_index(self.histories.make(count as usize))
    }

    /// Takes cells back.
    pub(super) fn give_back(&mut self, first: CellId, count: u64) {
        for at in 0..count {
            self.histories.clear(first.plus(at));
        }
        self.free.entry(count).or_default().push(first);
    }

    /// Gives a cell that has no history that of `from`.
    pub(super) fn fill(&mut self, from: CellId, to: CellId) {
        if !self.histories.is_blank(from) {
            self.histories.copy(from, to);
        }
    }

    /// A new cell with the history of `from`.
    pub(super) fn copied(&mut self, from: CellId) -> CellId {
        let cell = self.allocate(1);
        self.fill(from, cell);
        cell
    }

    /// Judges and records a plain access to all that the cell stands for.
    #[inline(always)]
    pub(super) fn judge(&mut self, cell: CellId, accessor: Accessor<'_>, races: &mut impl RaceSink<CellId>) {
        let Accessor { clock, epoch, access } = accessor;
        self.checks += 1;
        if access.kind.writes() {
            self.histories.write(clock, epoch, cell, access, races);
        } else {
            self.histories.read(clock, epoch, cell, access, races);
        }
    }

    /// Records a plain access if there is nothing to judge; else false, without effect.
    #[inline(always)]
    pub(super) fn take_ordered(
        &mut self,
        cell: CellId,
        clock: &ThreadClock,
        at: At,
        kind: AccessKind,
    ) -> bool {
        let taken = self.histories.take_ordered(clock, clock.epoch(), cell, at, kind);
        self.checks += u64::from(taken);
        taken
    }

    /// Judges and records an atomic access to the one variable that the cell stands for.
    pub(super) fn judge_atomic(
        &mut self,
        cell: CellId,
        accessor: Accessor<'_>,
        races: &mut impl RaceSink<CellId>,
    ) {
        self.checks += 1;
        self.histories.atomic(accessor.clock, accessor.epoch, cell, accessor.access, races);
    }

    /// Whether a plain access would change nothing.
    #[inline]
    pub(super) fn knows(&self, cell: CellId, epoch: Epoch, writes: bool) -> bool {
        self.histories.knows(cell, epoch, writes)
    }

    /// Lets a cell name no access that is later than that of another cell, which is the same.
    pub(super) fn take_earlier_places(&mut self, cell: CellId, other: CellId) -> bool {
        self.histories.take_earlier_places(cell, other)
    }

    pub(super) fn same(&self, one: CellId, other: CellId) -> bool {
        self.histories.same(one, other)
    }

    /// Whether there was no access yet.
    pub(super) fn is_blank(&self, cell: CellId) -> bool {
        self.histories.is_blank(cell)
    }

    pub(super) fn fingerprint(&self, cell: CellId) -> u64 {
        self.histories.fingerprint(cell)
    }

    /// Bytes of all cells and of what refers to them.
    pub(super) fn state_bytes(&self) -> usize {
        let lists: usize = self.free.values().map(Vec::capacity).sum();
        self.histories.state_bytes() + lists * size_of::<CellId>() + self.index_bytes
    }
}

/// The access that is named if there is a race.
pub(super) fn observed(at: At, kind: AccessKind) -> Judged {
    Judged { at, kind, verdict: Verdict::Observed }
}

/// Where an event stands, in two registers.
///
/// The event loop's own [`At`] must not be passed by reference, or it has to be in memory, stored in pieces and loaded as a
/// whole, which stalls: half of the time of an access to a fine array.
#[derive(Clone, Copy)]
pub(super) struct PackedAt {
    index: u64,
    thread_and_location: u64,
}

impl PackedAt {
    #[inline(always)]
    pub(super) fn new(at: At) -> PackedAt {
        let thread_and_location = u64::from(at.thread.0) << 32 | u64::from(at.location.0);
        PackedAt { index: at.index.0, thread_and_location }
    }

    #[inline]
    pub(super) fn thread(self) -> ThreadId {
        ThreadId((self.thread_and_location >> 32) as u32)
    }

    #[inline]
    pub(super) fn at(self) -> At {
        At {
            index: EventIndex(self.index),
            thread: self.thread(),
            location: LocationId(self.thread_and_location as u32),
        }
    }
}

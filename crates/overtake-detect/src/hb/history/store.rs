//! Where histories are kept: 16 bytes that every access looks at, places that only races need, and spills for the few variables that
//! need more.

use std::ops::Range;

use overtake_clock::{Epoch, ThreadClock, Time};
use overtake_trace::{EventIndex, Id, LocationId, Pages, ThreadId, VarId};

use super::Judged;
use crate::access::{Access, AccessKind, At};

/// The histories of all variables, or of other cells whose accesses are judged together.
///
/// With `EVERY_RACE` each access that races with an earlier one is reported. Without it the first race of each variable
/// is exact, and a write forgets what it raced with.
#[derive(Debug)]
pub(crate) struct Histories<const EVERY_RACE: bool, Cell = VarId> {
    /// What every access looks at, apart from what only races need: 16 bytes, four variables to a cache line.
    pub(super) latest: Pages<Cell, Latest>,
    pub(super) places: Pages<Cell, Places>,
    /// How many cells were made, if they are made.
    made: usize,
    /// Places that do not fit into the table.
    pub(super) wide: Vec<Place>,
    pub(super) spills: Vec<Spill>,
    pub(super) free_spills: Vec<u32>,
    /// Bytes that spills own on the heap.
    pub(super) spill_bytes: usize,
}

impl<const EVERY_RACE: bool, Cell> Default for Histories<EVERY_RACE, Cell> {
    fn default() -> Self {
        Histories {
            latest: Pages::default(),
            places: Pages::default(),
            made: 0,
            wide: Vec::new(),
            spills: Vec::new(),
            free_spills: Vec::new(),
            spill_bytes: 0,
        }
    }
}

/// The epochs of the kept write and read.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Latest {
    pub(super) write: Epoch,
    /// With a spill, its number as the thread of an epoch at [`Time::MAX`], which no thread reaches.
    pub(super) read: Epoch,
}

/// Where the kept write and read stand.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Places {
    pub(super) write: Packed,
    pub(super) read: Packed,
}

const _: () = assert!(size_of::<Latest>() == 16 && size_of::<Places>() == 16);

impl Latest {
    /// Whether both are ordered before what the thread of `clock` does next, and there is no spill.
    #[inline(always)]
    pub(super) fn is_ordered(&self, clock: &ThreadClock) -> bool {
        !(self.spill().is_some() | !clock.covers(self.write) | !clock.covers(self.read))
    }

    /// The position of the spill in its table.
    #[inline]
    pub(super) fn spill(&self) -> Option<usize> {
        (self.read.time == Time::MAX).then_some(self.read.thread as usize)
    }
}

/// What a variable keeps that is not its latest write or its only read.
#[derive(Default, Debug)]
pub(super) struct Spill {
    /// Reads, by thread.
    pub(super) reads: Vec<Record>,
    /// Writes that the latest one is not ordered after.
    pub(super) writes: Vec<Record>,
    /// Atomic accesses.
    pub(super) atomics: Vec<Record>,
}

impl<const EVERY_RACE: bool, Cell: Id> Histories<EVERY_RACE, Cell> {
    /// Makes cells without history. Returns the number of the first.
    pub(crate) fn make(&mut self, cells: usize) -> usize {
        self.made += cells;
        self.made - cells
    }

    /// Everything that is kept, with its cell.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (Cell, Epoch)> + '_ {
        self.latest.enumerate().flat_map(|(cell, latest)| {
            let spilled = latest.spill().map(|number| self.spills[number].epochs());
            let read = latest.spill().is_none().then_some(latest.read);
            let kept = [Some(latest.write), read].into_iter().flatten().filter(|epoch| epoch.is_some());
            kept.chain(spilled.into_iter().flatten()).map(move |epoch| (cell, epoch))
        })
    }

    /// Whether a cell may have been accessed at an event or later.
    pub(crate) fn may_be_used_since(&self, cell: Cell, since: EventIndex) -> bool {
        let latest = &self.latest[cell];
        let places = &self.places[cell];
        let is_later = |place: Packed| place.place(&self.wide).index() >= since.0;
        let written = latest.write.is_some() && is_later(places.write);
        written
            || match latest.spill() {
                None => latest.read.is_some() && is_later(places.read),
                // Atomic accesses that repeat others are not kept.
                Some(number) => {
                    let Spill { reads, writes, atomics } = &self.spills[number];
                    !atomics.is_empty() || reads.iter().chain(writes).any(|kept| kept.index() >= since.0)
                }
            }
    }

    /// Forgets the accesses of cells for which there will be no more.
    pub(crate) fn end(&mut self, cells: &Range<Cell>) {
        let cells = cells.start.index()..cells.end.index();
        for cell in cells.clone().map(Cell::from_index) {
            if let Some(number) = self.latest[cell].spill() {
                self.spills[number].clear();
                self.unspill(cell);
            }
        }
        self.latest.end(cells.clone());
        self.places.end(cells);
    }

    /// Bytes of all histories.
    pub(crate) fn state_bytes(&self) -> usize {
        self.latest.table_bytes()
            + self.places.table_bytes()
            + self.wide.capacity() * size_of::<Place>()
            + self.spills.capacity() * size_of::<Spill>()
            + self.free_spills.capacity() * size_of::<u32>()
            + self.spill_bytes
    }

    /// The latest write.
    pub(super) fn written(&self, cell: Cell) -> Record {
        Record { epoch: self.latest[cell].write, place: self.places[cell].write.place(&self.wide) }
    }

    /// The variable's spill; one that has none gets one, with its read in it.
    pub(super) fn spill(&mut self, cell: Cell) -> &mut Spill {
        let latest = &mut self.latest[cell];
        let number = latest.spill().unwrap_or_else(|| {
            let number = self.free_spills.pop().unwrap_or_else(|| {
                self.spills.push(Spill::default());
                self.spills.len() as u32 - 1
            });
            let read = std::mem::replace(&mut latest.read, Epoch { thread: number, time: Time::MAX });
            if read.is_some() {
                let spill = &mut self.spills[number as usize];
                let before = spill.heap_bytes();
                spill.reads.push(Record { epoch: read, place: self.places[cell].read.place(&self.wide) });
                self.spill_bytes = self.spill_bytes - before + spill.heap_bytes();
            }
            number as usize
        });
        &mut self.spills[number]
    }

    /// Gives an empty spill back; its memory stays with it for the next variable.
    pub(super) fn unspill(&mut self, cell: Cell) {
        let read = std::mem::take(&mut self.latest[cell].read);
        self.free_spills.push(read.thread);
    }
}

impl Spill {
    /// Drops what a plain write of the thread of `clock` dominates.
    pub(super) fn drop_ordered(&mut self, clock: &ThreadClock) {
        for kept in [&mut self.reads, &mut self.writes, &mut self.atomics] {
            kept.retain(|record| !clock.covers(record.epoch));
        }
    }

    /// Drops what an access of this kind by the thread of `clock` takes the place of: everything, for a plain write; the
    /// thread's own reads, for a plain read; atomic accesses ordered before it, for an atomic one.
    pub(super) fn pass(&mut self, clock: &ThreadClock, kind: AccessKind) {
        let own = clock.epoch().thread;
        if kind.dominates(AccessKind::Write) {
            self.clear();
        } else if kind == AccessKind::Read {
            self.reads.retain(|read| read.epoch.thread != own);
        } else {
            self.atomics.retain(|kept| !clock.covers(kept.epoch) || !kind.dominates(kept.kind()));
        }
    }

    /// Keeps a write that its successor is not ordered after.
    pub(super) fn keep_write(&mut self, write: Record) {
        self.writes.retain(|older| older.epoch.thread != write.epoch.thread);
        self.writes.push(write);
    }

    /// Whether an atomic access of the same epoch is kept that dominates this one.
    pub(super) fn has_atomic_like(&self, record: Record) -> bool {
        let dominates = |kept: &Record| kept.kind().writes() || !record.kind().writes();
        self.atomics.iter().any(|kept| kept.epoch == record.epoch && dominates(kept))
    }

    /// Keeps an atomic access and drops the atomic ones it dominates.
    pub(super) fn keep_atomic(&mut self, clock: &ThreadClock, record: Record) {
        let writes = record.kind().writes();
        self.atomics.retain(|kept| !clock.covers(kept.epoch) || (kept.kind().writes() && !writes));
        self.atomics.push(record);
    }

    /// Everything kept: reads, writes, atomic accesses.
    pub(super) fn epochs(&self) -> impl Iterator<Item = Epoch> {
        [&self.reads, &self.writes, &self.atomics].into_iter().flatten().map(|record| record.epoch)
    }

    /// Everything kept, in the order of [`epochs`](Self::epochs).
    pub(super) fn records_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        [&mut self.reads, &mut self.writes, &mut self.atomics].into_iter().flatten()
    }

    /// Whether the same is kept, in the same order. Atomic accesses of one epoch may differ in kind, so they are not
    /// the same as others.
    pub(super) fn same(&self, other: &Spill) -> bool {
        let lengths = |spill: &Spill| (spill.reads.len(), spill.writes.len());
        lengths(self) == lengths(other)
            && self.atomics.is_empty()
            && other.atomics.is_empty()
            && self.epochs().eq(other.epochs())
    }

    pub(super) fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.atomics.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.atomics.is_empty()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.reads.capacity() + self.writes.capacity() + self.atomics.capacity()) * size_of::<Record>()
    }
}

/// One kept access, 20 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub(super) epoch: Epoch,
    pub(super) place: Place,
}

impl Record {
    pub(super) fn index(&self) -> u64 {
        self.place.index()
    }

    pub(super) fn kind(&self) -> AccessKind {
        self.place.kind()
    }

    pub(super) fn access(&self) -> Access {
        let thread = ThreadId::from_index(self.epoch.thread as usize);
        let at = At { index: EventIndex(self.index()), thread, location: LocationId(self.place.location) };
        Access { at, kind: self.kind() }
    }
}

/// What a race names of an access besides its thread.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Place {
    location: u32,
    /// The low 32 bits of the index.
    index_low: u32,
    /// The high 29 bits of the index, below the kind.
    index_high_and_kind: u32,
}

const INDEX_HIGH_BITS: u32 = 29;

impl Place {
    #[inline]
    pub(super) fn new(access: Judged) -> Place {
        let Judged { at, kind, .. } = access;
        debug_assert!(AccessKind::ALL[kind as usize] == kind);
        Place {
            location: at.location.0,
            index_low: at.index.0 as u32,
            index_high_and_kind: (at.index.0 >> 32) as u32 | (kind as u32) << INDEX_HIGH_BITS,
        }
    }

    pub(super) fn index(&self) -> u64 {
        let high = self.index_high_and_kind & ((1 << INDEX_HIGH_BITS) - 1);
        u64::from(high) << 32 | u64::from(self.index_low)
    }

    /// Becomes `other` if that is earlier; returns whether it was.
    pub(super) fn take_earlier(&mut self, other: Place) -> bool {
        let earlier = other.index() < self.index();
        if earlier {
            *self = other;
        }
        earlier
    }

    pub(super) fn kind(&self) -> AccessKind {
        AccessKind::ALL[(self.index_high_and_kind >> INDEX_HIGH_BITS) as usize]
    }
}

/// A [`Place`] in eight bytes: the kind in the highest bits, then the location, then the index. One that does not fit has the largest location, and instead of
/// its index its position among the wide ones.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Packed(u64);

const LOCATION_BITS: u32 = 24;
const INDEX_BITS: u32 = 37;
/// In the place of the location, of which it is one more than the number: the place is elsewhere.
const WIDE: u32 = (1 << LOCATION_BITS) - 1;

impl Packed {
    /// Puts the place of an access into eight bytes, or among the wide ones if it does not fit.
    #[inline(always)]
    pub(super) fn new(access: Judged, wide: &mut Vec<Place>) -> Packed {
        let Judged { at, kind, .. } = access;
        // An unknown location is the largest number: it becomes 0.
        let location = at.location.0.wrapping_add(1);
        if (location >= WIDE) | (at.index.0 >> INDEX_BITS != 0) {
            return Packed::wide(Place::new(access), wide);
        }
        Packed::of(kind, location, at.index.0)
    }

    #[inline(always)]
    fn of(kind: AccessKind, location: u32, index: u64) -> Packed {
        Packed((kind as u64) << (LOCATION_BITS + INDEX_BITS) | u64::from(location) << INDEX_BITS | index)
    }

    #[cold]
    #[inline(never)]
    fn wide(place: Place, wide: &mut Vec<Place>) -> Packed {
        wide.push(place);
        Packed::of(place.kind(), WIDE, wide.len() as u64 - 1)
    }

    pub(super) fn place(self, wide: &[Place]) -> Place {
        let location = (self.0 >> INDEX_BITS) as u32 & WIDE;
        let index = self.0 & ((1 << INDEX_BITS) - 1);
        if location == WIDE {
            return wide[index as usize];
        }
        let kind = (self.0 >> (LOCATION_BITS + INDEX_BITS)) as u32;
        Place {
            location: location.wrapping_sub(1),
            index_low: index as u32,
            index_high_and_kind: (index >> 32) as u32 | kind << INDEX_HIGH_BITS,
        }
    }

    /// Becomes `other` if that is earlier; returns whether it was.
    pub(super) fn take_earlier(&mut self, other: Packed, wide: &[Place]) -> bool {
        let earlier = other.place(wide).index() < self.place(wide).index();
        if earlier {
            *self = other;
        }
        earlier
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_whether_it_fits_or_not() {
        let mut wide = Vec::new();
        let mut packed = Vec::new();
        for kind in AccessKind::ALL {
            for location in [0, WIDE - 2, WIDE - 1, WIDE, u32::MAX] {
                for index in [0, 1, (1 << INDEX_BITS) - 1, 1 << INDEX_BITS, (1 << 61) - 1] {
                    let at =
                        At { index: EventIndex(index), thread: ThreadId(3), location: LocationId(location) };
                    let access = Access { at, kind };
                    packed.push((access, Packed::new(Judged::observed(access), &mut wide)));
                }
            }
        }
        for (access, packed) in &packed {
            let record = Record { epoch: Epoch { thread: 3, time: 7 }, place: packed.place(&wide) };
            assert_eq!(record.access(), *access);
        }
        assert_eq!(
            wide.len() * 25,
            packed.len() * 16,
            "two of five locations and two of five indices do not fit"
        );
    }
}

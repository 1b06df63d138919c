//! What a variable remembers of its accesses: enough to judge every later one.
//!
//! **State.** Per variable the latest plain write and one plain read, inline; when that is not enough (unordered reads,
//! unordered writes, atomic accesses), all but the latest write are in a spill, which most variables never need.
//! **Domination.** An access `a` need not be kept once there is an access `b` with `a` ordered before `b` (or both in one
//! epoch of one thread) and everything that conflicts with `a` conflicting with `b`: if `a` is not ordered before a later
//! access, neither is `b`. A plain write dominates everything, a plain read dominates reads and loads, an atomic write
//! dominates atomic accesses, a load dominates loads.
//! **Invariants.**
//!   I1  Every earlier access is kept or dominated by a kept one. (`EVERY_RACE` only; otherwise until the variable's
//!       first race, and what is kept afterwards are still real accesses.)
//!   I2  Without a spill the inline write and read are all that is kept; with one, the inline write and the spill.
//!   I3  The spill keeps at most one read, one write, one load and one atomic write per thread.
//!   I4  What dominates a kept access takes its place, also one of the same epoch. So a race names the latest access that
//!       the second one races with. (`EVERY_RACE`; otherwise [`plain`](Histories::plain) does so for plain accesses, and
//!       [`read`](Histories::read), [`write`](Histories::write) and [`take_ordered`](Histories::take_ordered), which look
//!       away from repetitions, keep the first of each epoch.)
//! **Differs from FastTrack** (Flanagan and Freund, PLDI 2009). The reads of a shared variable are records sorted by
//! thread, not a clock: they name the access to report, and are as many as there are readers, not as there are threads.
//! **Cost.** O(1) for a variable without a spill; else O(log readers) for a read and O(readers) for
//! a write, which pays for the reads it removes.

use std::hash::{Hash, Hasher};

use overtake_clock::{Epoch, ThreadClock, Time};
use overtake_trace::{EventIndex, Id, IdVec, LocationId, Sizes, ThreadId, VarId};
use rustc_hash::FxHasher;

use crate::access::{Access, AccessKind, At};
use crate::race::{Race, RaceLog, Verdict};

/// The access being judged, and what a race with it would be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) at: At,
    pub(crate) kind: AccessKind,
    pub(crate) verdict: Verdict,
}

impl Judged {
    /// An access whose races happened.
    #[inline]
    pub(crate) fn observed(Access { at, kind }: Access) -> Judged {
        Judged { at, kind, verdict: Verdict::Observed }
    }
}

/// Where races between the accesses of one cell go.
pub(crate) trait RaceSink<Cell> {
    /// Takes a race between an access that the cell's history kept and the one being judged.
    fn race(&mut self, cell: Cell, verdict: Verdict, first: Access, second: Access);
}

impl RaceSink<VarId> for RaceLog {
    fn race(&mut self, var: VarId, verdict: Verdict, first: Access, second: Access) {
        self.report(Race { var, verdict, first, second });
    }
}

/// The histories of all variables, or of other cells whose accesses are judged together.
///
/// With `EVERY_RACE` each access that races with an earlier one is reported. Without it the first race of each variable
/// is exact, and a write forgets what it raced with.
#[derive(Debug)]
pub(crate) struct Histories<const EVERY_RACE: bool, Cell = VarId> {
    /// What every access looks at, apart from what only races need: 16 bytes, four variables to a cache line.
    latest: IdVec<Cell, Latest>,
    places: IdVec<Cell, Places>,
    spills: Vec<Spill>,
    free_spills: Vec<u32>,
    /// Bytes that spills own on the heap.
    spill_bytes: usize,
}

impl<const EVERY_RACE: bool, Cell> Default for Histories<EVERY_RACE, Cell> {
    fn default() -> Self {
        Histories {
            latest: IdVec::default(),
            places: IdVec::default(),
            spills: Vec::new(),
            free_spills: Vec::new(),
            spill_bytes: 0,
        }
    }
}

/// The epochs of the kept write and read.
#[derive(Clone, Copy, Default, Debug)]
struct Latest {
    write: Epoch,
    /// With a spill, its number as the thread of an epoch at [`Time::MAX`], which no thread reaches.
    read: Epoch,
}

/// Where the kept write and read stand.
#[derive(Clone, Copy, Default, Debug)]
struct Places {
    write: Place,
    read: Place,
}

const _: () = assert!(size_of::<Latest>() == 16 && size_of::<Places>() == 24);

impl Latest {
    /// The position of the spill in its table.
    #[inline]
    fn spill(&self) -> Option<usize> {
        (self.read.time == Time::MAX).then_some(self.read.thread as usize)
    }
}

/// What a variable keeps that is not its latest write or its only read.
#[derive(Default, Debug)]
struct Spill {
    /// Reads, by thread.
    reads: Vec<Record>,
    /// Writes that the latest one is not ordered after.
    writes: Vec<Record>,
    /// Atomic accesses.
    atomics: Vec<Record>,
}

impl<const EVERY_RACE: bool> Histories<EVERY_RACE> {
    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        self.latest.grow_to(sizes.variables);
        self.places.grow_to(sizes.variables);
    }
}

impl<const EVERY_RACE: bool, Cell: Id> Histories<EVERY_RACE, Cell> {
    /// A plain read or write by the thread of `clock`, in `epoch`: the same as [`read`](Self::read) or
    /// [`write`](Self::write), but without a jump that depends on which it is as long as all accesses are ordered.
    #[inline(always)]
    pub(crate) fn plain(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let latest = &mut self.latest[cell];
        if latest.spill().is_some() | !clock.covers(latest.write) | !clock.covers(latest.read) {
            let Judged { at: At { index, location, .. }, kind, verdict } = access;
            return self.plain_unordered(clock, epoch, cell, (index, location), (kind, verdict), races);
        }
        let writes = access.kind.writes();
        latest.write = if writes { epoch } else { latest.write };
        latest.read = if writes { Epoch::NONE } else { epoch };
        let places = &mut self.places[cell];
        let place = if writes { &mut places.write } else { &mut places.read };
        *place = Place::new(access); // I4
    }

    /// [`plain`](Self::plain), where something is not ordered or in a spill. The access comes in pieces that fit registers: in
    /// one it would be put into memory before it is known whether that is needed.
    #[inline(never)]
    fn plain_unordered(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        (index, location): (EventIndex, LocationId),
        (kind, verdict): (AccessKind, Verdict),
        races: &mut impl RaceSink<Cell>,
    ) {
        let access = Judged { at: At { index, thread: ThreadId(epoch.thread), location }, kind, verdict };
        if !EVERY_RACE && self.take_place(epoch, cell, access) {
            return; // a race would have been the other access's, and reported then
        }
        match access.kind {
            AccessKind::Read => _ = self.read(clock, epoch, cell, access, races),
            _ => self.write(clock, epoch, cell, access, races),
        }
    }

    /// Lets a plain access take the place of one that it repeats, if there is one: I4 where repetitions are not judged.
    fn take_place(&mut self, epoch: Epoch, cell: Cell, access: Judged) -> bool {
        let latest = self.latest[cell];
        let place = Place::new(access);
        if access.kind.writes() {
            let repeats = latest.write == epoch;
            if repeats {
                self.places[cell].write = place;
            }
            return repeats;
        }
        let repeats = self.knows(cell, epoch, false);
        if repeats && latest.read == epoch {
            self.places[cell].read = place;
        } else if repeats {
            self.keep_read(epoch, cell, place);
        }
        repeats
    }

    /// A plain read by the thread of `clock`, in `epoch`. Returns whether the last write is surely known to the thread.
    #[inline(always)]
    pub(crate) fn read(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) -> bool {
        let latest = &mut self.latest[cell];
        if !EVERY_RACE && (latest.read == epoch || latest.write == epoch) {
            return true; // a race would have been the other access's, and reported then
        }
        if latest.spill().is_some() {
            self.read_spilled(clock, epoch, cell, access, races);
            return false;
        }
        let ordered = clock.covers(latest.write);
        if !ordered {
            let written = Record { epoch: latest.write, place: self.places[cell].write };
            report(&written, cell, access, races);
        }
        if clock.covers(latest.read) {
            latest.read = epoch;
            self.places[cell].read = Place::new(access);
        } else {
            self.keep_read(epoch, cell, Place::new(access));
        }
        ordered
    }

    /// Takes a plain access if everything kept is ordered before it; else false, without effect. Nothing is passed on, so
    /// nothing has to be in memory: what stores there are wait for the cell.
    #[inline(always)]
    pub(crate) fn take_ordered(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        at: At,
        kind: AccessKind,
    ) -> bool {
        let latest = &mut self.latest[cell];
        if latest.write == epoch || (!kind.writes() && latest.read == epoch) {
            return !EVERY_RACE;
        }
        if latest.spill().is_some() || !clock.covers(latest.write) || !clock.covers(latest.read) {
            return false;
        }
        let place = Place::new(Judged::observed(Access { at, kind }));
        let places = &mut self.places[cell];
        if kind.writes() {
            *latest = Latest { write: epoch, read: Epoch::NONE };
            places.write = place;
        } else {
            latest.read = epoch;
            places.read = place;
        }
        true
    }

    /// A plain write or a free by the thread of `clock`, in `epoch`.
    #[inline(always)]
    pub(crate) fn write(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let latest = &mut self.latest[cell];
        if !EVERY_RACE && latest.write == epoch {
            return; // as for reads
        }
        if latest.spill().is_some() || !clock.covers(latest.write) || !clock.covers(latest.read) {
            return self.write_unordered(clock, epoch, cell, access, races);
        }
        *latest = Latest { write: epoch, read: Epoch::NONE };
        self.places[cell].write = Place::new(access);
    }

    /// An atomic access by the thread of `clock`, in `epoch`.
    pub(crate) fn atomic(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let written = self.written(cell);
        let spill = self.spill(cell);
        let mut nearest = Nearest::new(clock);
        nearest.consider(&written);
        nearest.consider_all(&spill.writes);
        if access.kind.writes() {
            nearest.consider_all(&spill.reads);
        }
        nearest.report(cell, access, races);
        let before = spill.heap_bytes();
        let record = Record { epoch, place: Place::new(access) };
        if EVERY_RACE || !spill.has_atomic_like(record) {
            spill.keep_atomic(clock, record);
        }
        let after = spill.heap_bytes();
        self.spill_bytes = self.spill_bytes - before + after;
    }

    /// Judges an access that is not to be kept, and forgets what it would have taken the place of had it been kept.
    #[inline]
    pub(crate) fn pass(
        &mut self,
        clock: &ThreadClock,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let latest = &self.latest[cell];
        if latest.write.is_some() | latest.read.is_some() {
            self.pass_kept(clock, cell, access, races);
        }
    }

    /// [`pass`](Self::pass), where something is kept.
    fn pass_kept(
        &mut self,
        clock: &ThreadClock,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let kind = access.kind;
        let mut nearest = Nearest::new(clock);
        let written = self.written(cell);
        if kind.conflicts(AccessKind::Write) {
            nearest.consider(&written);
        }
        if self.latest[cell].spill().is_none() {
            let latest = &mut self.latest[cell];
            if kind.conflicts(AccessKind::Read) {
                nearest.consider(&Record { epoch: latest.read, place: self.places[cell].read });
            }
            if kind.dominates(AccessKind::Read)
                && (kind.dominates(AccessKind::Write) || clock.covers(latest.read))
            {
                latest.read = Epoch::NONE;
            }
        } else {
            let spill = self.spill(cell);
            for kept in [&spill.reads, &spill.writes, &spill.atomics] {
                nearest.consider_all_if(kept, |other| kind.conflicts(other));
            }
            let before = spill.heap_bytes();
            spill.pass(clock, kind);
            let (after, empty) = (spill.heap_bytes(), spill.is_empty());
            self.spill_bytes = self.spill_bytes - before + after;
            if empty {
                self.unspill(cell);
            }
        }
        if kind.dominates(AccessKind::Write) {
            self.latest[cell].write = Epoch::NONE;
        }
        nearest.report(cell, access, races);
    }

    /// Makes room for `cells` cells without history.
    pub(crate) fn grow_tightly_to(&mut self, cells: usize) {
        self.latest.grow_tightly_to(cells);
        self.places.grow_tightly_to(cells);
    }

    /// Makes room for `cells` more cells without making them.
    pub(crate) fn make_room(&mut self, cells: usize) {
        self.latest.make_room(cells);
        self.places.make_room(cells);
    }

    /// How many cells there are.
    pub(crate) fn len(&self) -> usize {
        self.latest.len()
    }

    /// Whether a plain access in `epoch` would change nothing, because an access of that epoch is kept that dominates it.
    #[inline]
    pub(crate) fn knows(&self, cell: Cell, epoch: Epoch, writes: bool) -> bool {
        let latest = &self.latest[cell];
        latest.write == epoch || (!writes && (latest.read == epoch || self.shares_read(latest, epoch)))
    }

    #[inline]
    fn shares_read(&self, latest: &Latest, epoch: Epoch) -> bool {
        latest.spill().is_some_and(|number| {
            let reads = &self.spills[number].reads;
            let position = reads.binary_search_by_key(&epoch.thread, |read| read.epoch.thread);
            position.is_ok_and(|position| reads[position].epoch == epoch)
        })
    }

    /// Forgets the history of a cell.
    pub(crate) fn clear(&mut self, cell: Cell) {
        if self.latest[cell].spill().is_some() {
            let spill = self.spill(cell);
            spill.clear();
            self.unspill(cell);
        }
        self.latest[cell] = Latest::default();
    }

    /// Whether a cell was never accessed.
    pub(crate) fn is_blank(&self, cell: Cell) -> bool {
        let latest = &self.latest[cell];
        !latest.write.is_some() && !latest.read.is_some()
    }

    /// Gives `to`, which has no history, the history of `from`.
    pub(crate) fn copy(&mut self, from: Cell, to: Cell) {
        debug_assert!(self.latest[to].spill().is_none());
        self.places[to] = self.places[from];
        let latest = self.latest[from];
        let Some(number) = latest.spill() else {
            self.latest[to] = latest;
            return;
        };
        let Spill { reads, writes, atomics } = &self.spills[number];
        let (reads, writes, atomics) = (reads.clone(), writes.clone(), atomics.clone());
        self.latest[to] = Latest { write: latest.write, read: Epoch::NONE };
        let spill = self.spill(to);
        let before = spill.heap_bytes();
        *spill = Spill { reads, writes, atomics };
        let after = spill.heap_bytes();
        self.spill_bytes = self.spill_bytes - before + after;
    }

    /// Whether two cells would judge every plain access alike.
    pub(crate) fn same(&self, one: Cell, other: Cell) -> bool {
        let (one, other) = (&self.latest[one], &self.latest[other]);
        one.write == other.write
            && match (one.spill(), other.spill()) {
                (None, None) => one.read == other.read,
                (Some(one), Some(other)) => self.spills[one].same(&self.spills[other]),
                _ => false,
            }
    }

    /// Lets what `cell` keeps stand where what `other` keeps stands, wherever that is earlier; the cells are the same.
    /// Returns whether something changed.
    pub(crate) fn take_earlier_places(&mut self, cell: Cell, other: Cell) -> bool {
        let (mine, others) = (self.latest[cell], self.latest[other]);
        let theirs = self.places[other];
        let places = &mut self.places[cell];
        let mut changed = mine.write.is_some() && places.write.take_earlier(theirs.write);
        match (mine.spill(), others.spill()) {
            (None, None) => changed |= mine.read.is_some() && places.read.take_earlier(theirs.read),
            (Some(mine), Some(others)) if mine != others => {
                if let Ok([mine, others]) = self.spills.get_disjoint_mut([mine, others]) {
                    for (record, other) in mine.records_mut().zip(others.records_mut()) {
                        changed |= record.place.take_earlier(other.place);
                    }
                }
            }
            _ => {}
        }
        changed
    }

    /// A number that is the same for cells that are the same, and most likely different for others.
    pub(crate) fn fingerprint(&self, cell: Cell) -> u64 {
        let latest = &self.latest[cell];
        let mut hasher = FxHasher::default();
        latest.write.hash(&mut hasher);
        match latest.spill() {
            None => latest.read.hash(&mut hasher),
            Some(number) => self.spills[number].epochs().for_each(|epoch| epoch.hash(&mut hasher)),
        }
        hasher.finish()
    }

    /// Bytes of all histories.
    pub(crate) fn state_bytes(&self) -> usize {
        self.latest.table_bytes()
            + self.places.table_bytes()
            + self.spills.capacity() * size_of::<Spill>()
            + self.free_spills.capacity() * size_of::<u32>()
            + self.spill_bytes
    }

    /// A read of a variable with a spill.
    #[inline(never)]
    fn read_spilled(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let written = self.written(cell);
        if !EVERY_RACE && self.shares_read(&self.latest[cell], epoch) {
            return;
        }
        let spill = self.spill(cell);
        let mut nearest = Nearest::new(clock);
        nearest.consider(&written);
        nearest.consider_all(&spill.writes);
        nearest.consider_all_if(&spill.atomics, |kind| kind.writes());
        nearest.report(cell, access, races);
        self.keep_read(epoch, cell, Place::new(access));
    }

    /// Keeps a read in the spill, in the place of an earlier one of its thread.
    fn keep_read(&mut self, epoch: Epoch, cell: Cell, place: Place) {
        let spill = self.spill(cell);
        let read = Record { epoch, place };
        match spill.reads.binary_search_by_key(&epoch.thread, |read| read.epoch.thread) {
            Ok(position) => spill.reads[position] = read,
            Err(position) => {
                let before = spill.heap_bytes();
                spill.reads.insert(position, read);
                let after = spill.heap_bytes();
                self.spill_bytes = self.spill_bytes - before + after;
            }
        }
    }

    /// A write of a variable with a spill, or one that races.
    #[inline(never)]
    fn write_unordered(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let written = self.written(cell);
        let spill = self.spill(cell);
        let mut nearest = Nearest::new(clock);
        nearest.consider(&written);
        nearest.consider_all(&spill.reads);
        nearest.consider_all(&spill.writes);
        nearest.consider_all(&spill.atomics);
        nearest.report(cell, access, races);
        let before = spill.heap_bytes();
        if EVERY_RACE {
            spill.drop_ordered(clock);
            if !clock.covers(written.epoch) {
                spill.keep_write(written);
            }
        } else {
            spill.clear();
        }
        let (after, empty) = (spill.heap_bytes(), spill.is_empty());
        self.spill_bytes = self.spill_bytes - before + after;
        self.latest[cell].write = epoch;
        self.places[cell].write = Place::new(access);
        if empty {
            self.unspill(cell);
        }
    }

    /// The latest write.
    fn written(&self, cell: Cell) -> Record {
        Record { epoch: self.latest[cell].write, place: self.places[cell].write }
    }

    /// The variable's spill; one that has none gets one, with its read in it.
    fn spill(&mut self, cell: Cell) -> &mut Spill {
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
                spill.reads.push(Record { epoch: read, place: self.places[cell].read });
                self.spill_bytes = self.spill_bytes - before + spill.heap_bytes();
            }
            number as usize
        });
        &mut self.spills[number]
    }

    /// Gives an empty spill back; its memory stays with it for the next variable.
    fn unspill(&mut self, cell: Cell) {
        let read = std::mem::take(&mut self.latest[cell].read);
        self.free_spills.push(read.thread);
    }
}

impl Spill {
    /// Drops what a plain write of the thread of `clock` dominates.
    fn drop_ordered(&mut self, clock: &ThreadClock) {
        for kept in [&mut self.reads, &mut self.writes, &mut self.atomics] {
            kept.retain(|record| !clock.covers(record.epoch));
        }
    }

    /// Drops what an access of this kind by the thread of `clock` takes the place of: everything, for a plain write; the
    /// thread's own reads, for a plain read; atomic accesses ordered before it, for an atomic one.
    fn pass(&mut self, clock: &ThreadClock, kind: AccessKind) {
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
    fn keep_write(&mut self, write: Record) {
        self.writes.retain(|older| older.epoch.thread != write.epoch.thread);
        self.writes.push(write);
    }

    /// Whether an atomic access of the same epoch is kept that dominates this one.
    fn has_atomic_like(&self, record: Record) -> bool {
        let dominates = |kept: &Record| kept.kind().writes() || !record.kind().writes();
        self.atomics.iter().any(|kept| kept.epoch == record.epoch && dominates(kept))
    }

    /// Keeps an atomic access and drops the atomic ones it dominates.
    fn keep_atomic(&mut self, clock: &ThreadClock, record: Record) {
        let writes = record.kind().writes();
        self.atomics.retain(|kept| !clock.covers(kept.epoch) || (kept.kind().writes() && !writes));
        self.atomics.push(record);
    }

    /// Everything kept: reads, writes, atomic accesses.
    fn epochs(&self) -> impl Iterator<Item = Epoch> {
        [&self.reads, &self.writes, &self.atomics].into_iter().flatten().map(|record| record.epoch)
    }

    /// Everything kept, in the order of [`epochs`](Self::epochs).
    fn records_mut(&mut self) -> impl Iterator<Item = &mut Record> {
        [&mut self.reads, &mut self.writes, &mut self.atomics].into_iter().flatten()
    }

    /// Whether the same is kept, in the same order. Atomic accesses of one epoch may differ in kind, so they are not
    /// the same as others.
    fn same(&self, other: &Spill) -> bool {
        let lengths = |spill: &Spill| (spill.reads.len(), spill.writes.len());
        lengths(self) == lengths(other)
            && self.atomics.is_empty()
            && other.atomics.is_empty()
            && self.epochs().eq(other.epochs())
    }

    fn clear(&mut self) {
        self.reads.clear();
        self.writes.clear();
        self.atomics.clear();
    }

    fn is_empty(&self) -> bool {
        self.reads.is_empty() && self.writes.is_empty() && self.atomics.is_empty()
    }

    fn heap_bytes(&self) -> usize {
        (self.reads.capacity() + self.writes.capacity() + self.atomics.capacity()) * size_of::<Record>()
    }
}

/// The latest of the accesses that are not ordered before the thread of a clock: the partner that is reported.
struct Nearest<'a> {
    clock: &'a ThreadClock,
    found: Option<Record>,
}

impl<'a> Nearest<'a> {
    fn new(clock: &'a ThreadClock) -> Self {
        Nearest { clock, found: None }
    }

    #[inline]
    fn consider(&mut self, record: &Record) {
        if !self.clock.covers(record.epoch) && self.found.is_none_or(|found| found.index() < record.index()) {
            self.found = Some(*record);
        }
    }

    #[inline]
    fn consider_all(&mut self, records: &[Record]) {
        self.consider_all_if(records, |_| true);
    }

    #[inline]
    fn consider_all_if(&mut self, records: &[Record], conflicts: impl Fn(AccessKind) -> bool) {
        for record in records {
            if conflicts(record.kind()) {
                self.consider(record);
            }
        }
    }

    #[inline]
    fn report<Cell>(&self, cell: Cell, access: Judged, races: &mut impl RaceSink<Cell>) {
        if let Some(first) = &self.found {
            report(first, cell, access, races);
        }
    }
}

#[cold]
#[inline(never)]
fn report<Cell>(first: &Record, cell: Cell, access: Judged, races: &mut impl RaceSink<Cell>) {
    let Judged { at, kind, verdict } = access;
    races.race(cell, verdict, first.access(), Access { at, kind });
}

/// One kept access, 20 bytes.
#[derive(Clone, Copy, Debug)]
struct Record {
    epoch: Epoch,
    place: Place,
}

impl Record {
    fn index(&self) -> u64 {
        self.place.index()
    }

    fn kind(&self) -> AccessKind {
        self.place.kind()
    }

    fn access(&self) -> Access {
        let thread = ThreadId::from_index(self.epoch.thread as usize);
        let at = At { index: EventIndex(self.index()), thread, location: LocationId(self.place.location) };
        Access { at, kind: self.kind() }
    }
}

/// What a race names of an access besides its thread.
#[derive(Clone, Copy, Default, Debug)]
struct Place {
    location: u32,
    /// The low 32 bits of the index.
    index_low: u32,
    /// The high 29 bits of the index, below the kind.
    index_high_and_kind: u32,
}

const INDEX_HIGH_BITS: u32 = 29;

impl Place {
    #[inline]
    fn new(access: Judged) -> Place {
        let Judged { at, kind, .. } = access;
        debug_assert!(AccessKind::ALL[kind as usize] == kind);
        Place {
            location: at.location.0,
            index_low: at.index.0 as u32,
            index_high_and_kind: (at.index.0 >> 32) as u32 | (kind as u32) << INDEX_HIGH_BITS,
        }
    }

    fn index(&self) -> u64 {
        let high = self.index_high_and_kind & ((1 << INDEX_HIGH_BITS) - 1);
        u64::from(high) << 32 | u64::from(self.index_low)
    }

    /// Becomes `other` if that is earlier; returns whether it was.
    fn take_earlier(&mut self, other: Place) -> bool {
        let earlier = other.index() < self.index();
        if earlier {
            *self = other;
        }
        earlier
    }

    fn kind(&self) -> AccessKind {
        AccessKind::ALL[(self.index_high_and_kind >> INDEX_HIGH_BITS) as usize]
    }
}

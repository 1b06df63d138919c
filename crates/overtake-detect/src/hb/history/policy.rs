//! What is kept of an access, and which race it makes.

use overtake_clock::{Epoch, ThreadClock};
use overtake_trace::{EventIndex, Id, LocationId, ThreadId};

use super::store::{Histories, Latest, Packed, Place, Record};
use super::{Judged, RaceSink};
use crate::access::{Access, AccessKind, At};
use crate::race::Verdict;

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
        if !latest.is_ordered(clock) {
            let Judged { at: At { index, location, .. }, kind, verdict } = access;
            return self.plain_unordered(clock, epoch, cell, (index, location), (kind, verdict), races);
        }
        let writes = access.kind.writes();
        latest.write = if writes { epoch } else { latest.write };
        latest.read = if writes { Epoch::NONE } else { epoch };
        let places = &mut self.places[cell];
        let place = if writes { &mut places.write } else { &mut places.read };
        *place = Packed::new(access, &mut self.wide); // I4
    }

    /// Plain accesses to cells with consecutive numbers, the first of which is given: the same as [`plain`](Self::plain) for each. Neighbours
    /// mostly have the same history, so that it is judged once.
    pub(crate) fn sweep(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        first: Cell,
        count: u32,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let writes = access.kind.writes();
        let mut ordered = Latest::default();
        for number in 0..count {
            let cell = Cell::from_index(first.index() + number as usize);
            let access = Judged { at: access.at.later(number), ..access };
            let latest = &mut self.latest[cell];
            if *latest != ordered {
                if !latest.is_ordered(clock) {
                    self.plain(clock, epoch, cell, access, races);
                    continue;
                }
                ordered = *latest;
            }
            *latest = match writes {
                true => Latest { write: epoch, read: Epoch::NONE },
                false => Latest { write: ordered.write, read: epoch },
            };
            let places = &mut self.places[cell];
            let place = if writes { &mut places.write } else { &mut places.read };
            *place = Packed::new(access, &mut self.wide); // I4
        }
    }

    /// Whether everything that is kept of a cell is ordered before what the thread of `clock` does next, and nothing is in a spill.
    pub(crate) fn is_ordered(&self, clock: &ThreadClock, cell: Cell) -> bool {
        self.latest[cell].is_ordered(clock)
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
            return; // a race would have been reported at the other access
        }
        match access.kind {
            AccessKind::Read => _ = self.read(clock, epoch, cell, access, races),
            _ => self.write(clock, epoch, cell, access, races),
        }
    }

    /// Lets a plain access take the place of one that it repeats, if there is one: I4 where repetitions are not judged.
    fn take_place(&mut self, epoch: Epoch, cell: Cell, access: Judged) -> bool {
        let latest = self.latest[cell];
        if access.kind.writes() {
            let repeats = latest.write == epoch;
            if repeats {
                self.places[cell].write = Packed::new(access, &mut self.wide);
            }
            return repeats;
        }
        let repeats = self.knows(cell, epoch, false);
        if repeats && latest.read == epoch {
            self.places[cell].read = Packed::new(access, &mut self.wide);
        } else if repeats {
            self.keep_read(epoch, cell, Place::new(access));
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
            return true; // a race would have been reported at the other access
        }
        if latest.spill().is_some() {
            self.read_spilled(clock, epoch, cell, access, races);
            return false;
        }
        let ordered = clock.covers(latest.write);
        if !ordered {
            let written = Record { epoch: latest.write, place: self.places[cell].write.place(&self.wide) };
            report(&written, cell, access, races);
        }
        if clock.covers(latest.read) {
            latest.read = epoch;
            self.places[cell].read = Packed::new(access, &mut self.wide);
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
        let place = Packed::new(Judged::observed(Access { at, kind }), &mut self.wide);
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
        self.places[cell].write = Packed::new(access, &mut self.wide);
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
    #[inline(always)]
    pub(crate) fn pass(
        &mut self,
        clock: &ThreadClock,
        cell: Cell,
        access: Judged,
        races: &mut impl RaceSink<Cell>,
    ) {
        let latest = &self.latest[cell];
        if latest.write.is_some() | latest.read.is_some() {
            let Judged { at: At { index, thread, location }, kind, verdict } = access;
            self.pass_kept(clock, cell, (index, thread, location), (kind, verdict), races);
        }
    }

    /// [`pass`](Self::pass), where something is kept. The access comes in pieces, as for [`plain_unordered`](Self::plain_unordered).
    #[inline(never)]
    fn pass_kept(
        &mut self,
        clock: &ThreadClock,
        cell: Cell,
        (index, thread, location): (EventIndex, ThreadId, LocationId),
        (kind, verdict): (AccessKind, Verdict),
        races: &mut impl RaceSink<Cell>,
    ) {
        let access = Judged { at: At { index, thread, location }, kind, verdict };
        let mut nearest = Nearest::new(clock);
        let written = self.written(cell);
        if kind.conflicts(AccessKind::Write) {
            nearest.consider(&written);
        }
        if self.latest[cell].spill().is_none() {
            let latest = &mut self.latest[cell];
            if kind.conflicts(AccessKind::Read) {
                nearest.consider(&Record {
                    epoch: latest.read,
                    place: self.places[cell].read.place(&self.wide),
                });
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
        self.places[cell].write = Packed::new(access, &mut self.wide);
        if empty {
            self.unspill(cell);
        }
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

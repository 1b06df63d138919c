//! What a variable remembers of its accesses: enough to judge every later one.
//!
//! **State.** Per variable the latest plain write and one plain read, inline; what does not fit (further unordered
//! reads, unordered writes, atomic accesses) in a spill that most variables never need.
//! **Domination.** An access `a` need not be kept once there is an access `b` with `a` ordered before `b` (or both in one
//! epoch of one thread) and everything that conflicts with `a` conflicting with `b`: if `a` is not ordered before a later
//! access, neither is `b`. A plain write dominates everything, a plain read dominates reads and loads, an atomic write
//! dominates atomic accesses, a load dominates loads.
//! **Invariants.**
//!   I1  Every earlier access is kept or dominated by a kept one. (`EVERY_RACE` only; otherwise until the variable's
//!       first race, and what is kept afterwards are still real accesses.)
//!   I2  Without a spill the inline write and read are all that is kept.
//!   I3  The spill keeps at most one read, one write, one load and one atomic write per thread.
//! **Differs from FastTrack** (Flanagan and Freund, PLDI 2009). The reads of a shared variable are records sorted by
//! thread, not a clock: they name the access to report, and are as many as there are readers, not as there are threads.
//! **Cost.** O(1) and one cache line for a variable without a spill; else O(log readers) for a read and O(readers) for
//! a write, which pays for the reads it removes.

use overtake_clock::{Epoch, ThreadClock};
use overtake_trace::{EventIndex, Id, IdVec, LocationId, Sizes, ThreadId, VarId};

use crate::access::{Access, AccessKind, At};
use crate::race::{Race, RaceLog, Verdict};

/// The access being judged, and what a race with it would be called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) at: At,
    pub(crate) kind: AccessKind,
    pub(crate) verdict: Verdict,
}

/// The histories of all variables.
///
/// With `EVERY_RACE` each access that races with an earlier one is reported. Without it the first race of each variable
/// is exact, and a write forgets what it raced with.
#[derive(Default, Debug)]
pub(crate) struct Histories<const EVERY_RACE: bool> {
    variables: IdVec<VarId, History>,
    spills: Vec<Spill>,
    free_spills: Vec<u32>,
    /// Bytes that spills own on the heap.
    spill_bytes: usize,
}

#[derive(Clone, Copy, Default, Debug)]
struct History {
    write: Record,
    read: Record,
    /// Position of the spill in its table, counted from 1; 0 is none.
    spill: u32,
}

const _: () = assert!(size_of::<History>() == 44);

/// One kept access, 20 bytes.
#[derive(Clone, Copy, Debug)]
struct Record {
    epoch: Epoch,
    location: LocationId,
    /// The low 32 bits of the index.
    index_low: u32,
    /// The high 29 bits of the index, below the kind.
    index_high_and_kind: u32,
}

/// What a variable keeps beyond one write and one read.
#[derive(Default, Debug)]
struct Spill {
    /// Reads of other threads than the inline one, by thread.
    reads: Vec<Record>,
    /// Writes that the inline one is not ordered after.
    writes: Vec<Record>,
    /// Atomic accesses.
    atomics: Vec<Record>,
}

impl<const EVERY_RACE: bool> Histories<EVERY_RACE> {
    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        self.variables.grow_to(sizes.variables);
    }

    /// A plain read by the thread of `clock`, in `epoch`.
    #[inline]
    pub(crate) fn read(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        var: VarId,
        access: Judged,
        races: &mut RaceLog,
    ) {
        let history = &mut self.variables[var];
        if !EVERY_RACE && (history.read.epoch == epoch || history.write.epoch == epoch) {
            return; // a race would have been the other access's, and reported then
        }
        if history.spill != 0 {
            return self.read_spilled(clock, epoch, var, access, races);
        }
        if !clock.covers(history.write.epoch) {
            report(&history.write, var, access, races);
        }
        if history.read.epoch == epoch || history.write.epoch == epoch {
            return; // dominated: same thread, same epoch
        }
        if clock.covers(history.read.epoch) {
            history.read = Record::new(access, epoch);
        } else {
            self.share_read(epoch, var, access);
        }
    }

    /// A plain write or a free by the thread of `clock`, in `epoch`.
    #[inline]
    pub(crate) fn write(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        var: VarId,
        access: Judged,
        races: &mut RaceLog,
    ) {
        let history = &mut self.variables[var];
        if !EVERY_RACE && history.write.epoch == epoch {
            return; // as for reads
        }
        let ordered = clock.covers(history.write.epoch) && clock.covers(history.read.epoch);
        if !ordered || history.spill != 0 {
            return self.write_unordered(clock, epoch, var, access, races);
        }
        if history.write.epoch != epoch {
            history.write = Record::new(access, epoch);
        }
        history.read.epoch = Epoch::NONE;
    }

    /// An atomic access by the thread of `clock`, in `epoch`.
    pub(crate) fn atomic(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        var: VarId,
        access: Judged,
        races: &mut RaceLog,
    ) {
        self.spill(var);
        let history = &self.variables[var];
        let spill = &mut self.spills[history.spill as usize - 1];
        let mut nearest = Nearest::new(clock);
        nearest.consider(&history.write);
        nearest.consider_all(&spill.writes);
        if access.kind.writes() {
            nearest.consider(&history.read);
            nearest.consider_all(&spill.reads);
        }
        nearest.report(var, access, races);
        let before = spill.heap_bytes();
        spill.keep_atomic(clock, Record::new(access, epoch));
        self.spill_bytes = self.spill_bytes - before + spill.heap_bytes();
    }

    /// Bytes of all histories.
    pub(crate) fn state_bytes(&self) -> usize {
        self.variables.table_bytes()
            + self.spills.capacity() * size_of::<Spill>()
            + self.free_spills.capacity() * size_of::<u32>()
            + self.spill_bytes
    }

    fn read_spilled(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        var: VarId,
        access: Judged,
        races: &mut RaceLog,
    ) {
        let history = &mut self.variables[var];
        let spill = &mut self.spills[history.spill as usize - 1];
        let position = spill.reads.binary_search_by_key(&epoch.thread, |read| read.epoch.thread);
        if let Ok(position) = position
            && !EVERY_RACE
            && spill.reads[position].epoch == epoch
        {
            return;
        }
        let mut nearest = Nearest::new(clock);
        nearest.consider(&history.write);
        nearest.consider_all(&spill.writes);
        nearest.consider_all_if(&spill.atomics, |kind| kind.writes());
        nearest.report(var, access, races);
        if history.read.epoch == epoch || history.write.epoch == epoch {
            return;
        }
        let record = Record::new(access, epoch);
        match position {
            Ok(position) if spill.reads[position].epoch == epoch => {}
            Ok(position) => spill.reads[position] = record,
            Err(_) if clock.covers(history.read.epoch) => history.read = record,
            Err(position) => {
                let before = spill.heap_bytes();
                spill.reads.insert(position, record);
                self.spill_bytes = self.spill_bytes - before + spill.heap_bytes();
            }
        }
    }

    /// The inline read is not ordered before this one.
    #[cold]
    fn share_read(&mut self, epoch: Epoch, var: VarId, access: Judged) {
        self.spill(var);
        let spill = &mut self.spills[self.variables[var].spill as usize - 1];
        let before = spill.heap_bytes();
        spill.reads.push(Record::new(access, epoch));
        self.spill_bytes = self.spill_bytes - before + spill.heap_bytes();
    }

    #[cold]
    fn write_unordered(
        &mut self,
        clock: &ThreadClock,
        epoch: Epoch,
        var: VarId,
        access: Judged,
        races: &mut RaceLog,
    ) {
        self.spill(var);
        let history = &mut self.variables[var];
        let spill = &mut self.spills[history.spill as usize - 1];
        let mut nearest = Nearest::new(clock);
        nearest.consider(&history.write);
        nearest.consider(&history.read);
        nearest.consider_all(&spill.reads);
        nearest.consider_all(&spill.writes);
        nearest.consider_all(&spill.atomics);
        nearest.report(var, access, races);
        let before = spill.heap_bytes();
        if EVERY_RACE {
            spill.drop_ordered(clock);
            if !clock.covers(history.write.epoch) {
                spill.keep_write(history.write);
            }
        } else {
            spill.clear();
        }
        self.spill_bytes = self.spill_bytes - before + spill.heap_bytes();
        if !EVERY_RACE || clock.covers(history.read.epoch) {
            history.read.epoch = Epoch::NONE;
        }
        if history.write.epoch != epoch {
            history.write = Record::new(access, epoch);
        }
        if spill.is_empty() {
            self.unspill(var);
        }
    }

    /// Makes sure that the variable has a spill.
    fn spill(&mut self, var: VarId) {
        let history = &mut self.variables[var];
        if history.spill == 0 {
            history.spill = self.free_spills.pop().unwrap_or_else(|| {
                self.spills.push(Spill::default());
                self.spills.len() as u32
            });
        }
    }

    /// Gives an empty spill back; its memory stays with it for the next variable.
    fn unspill(&mut self, var: VarId) {
        self.free_spills.push(std::mem::take(&mut self.variables[var].spill));
    }
}

impl Spill {
    /// Drops what a plain write of the thread of `clock` dominates.
    fn drop_ordered(&mut self, clock: &ThreadClock) {
        for kept in [&mut self.reads, &mut self.writes, &mut self.atomics] {
            kept.retain(|record| !clock.covers(record.epoch));
        }
    }

    /// Keeps a write that its successor is not ordered after.
    fn keep_write(&mut self, write: Record) {
        self.writes.retain(|older| older.epoch.thread != write.epoch.thread);
        self.writes.push(write);
    }

    /// Keeps an atomic access and drops the atomic ones it dominates.
    fn keep_atomic(&mut self, clock: &ThreadClock, record: Record) {
        let writes = record.kind().writes();
        if self.atomics.iter().any(|kept| kept.epoch == record.epoch && (kept.kind().writes() || !writes)) {
            return;
        }
        self.atomics.retain(|kept| !clock.covers(kept.epoch) || (kept.kind().writes() && !writes));
        self.atomics.push(record);
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
    fn report(&self, var: VarId, access: Judged, races: &mut RaceLog) {
        if let Some(first) = &self.found {
            report(first, var, access, races);
        }
    }
}

#[cold]
#[inline(never)]
fn report(first: &Record, var: VarId, access: Judged, races: &mut RaceLog) {
    let Judged { at, kind, verdict } = access;
    races.report(Race { var, verdict, first: first.access(), second: Access { at, kind } });
}

impl Default for Record {
    fn default() -> Self {
        Record { epoch: Epoch::NONE, location: LocationId::UNKNOWN, index_low: 0, index_high_and_kind: 0 }
    }
}

const KINDS: [AccessKind; 6] = [
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::Load,
    AccessKind::Store,
    AccessKind::Rmw,
    AccessKind::Free,
];
const INDEX_HIGH_BITS: u32 = 29;

impl Record {
    #[inline]
    fn new(access: Judged, epoch: Epoch) -> Record {
        let Judged { at, kind, .. } = access;
        debug_assert!(KINDS[kind as usize] == kind);
        Record {
            epoch,
            location: at.location,
            index_low: at.index.0 as u32,
            index_high_and_kind: (at.index.0 >> 32) as u32 | (kind as u32) << INDEX_HIGH_BITS,
        }
    }

    fn index(&self) -> u64 {
        let high = self.index_high_and_kind & ((1 << INDEX_HIGH_BITS) - 1);
        u64::from(high) << 32 | u64::from(self.index_low)
    }

    fn kind(&self) -> AccessKind {
        KINDS[(self.index_high_and_kind >> INDEX_HIGH_BITS) as usize]
    }

    fn access(&self) -> Access {
        let thread = ThreadId::from_index(self.epoch.thread as usize);
        let at = At { index: EventIndex(self.index()), thread, location: self.location };
        Access { at, kind: self.kind() }
    }
}

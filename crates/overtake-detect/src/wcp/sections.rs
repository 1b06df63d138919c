//! Critical sections as the weak order needs them: the ends of each lock's sections, and the variables accessed inside.
//!
//! **Invariants.**
//!   I1  Exclusive sections of a lock are recorded in the order in which they ran, which is an order of happens-before. So
//!       what is true of an acquire is true of the earlier ones, and the clock of a release contains those of earlier ones.
//!   I2  The same holds for the shared sections of one thread, but not between threads: they are recorded by thread.

use overtake_clock::{SnapshotId, Snapshots, Time};
use overtake_trace::{IdVec, LockId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::detector::LockMode;

/// A section that ended.
#[derive(Clone, Copy, Debug)]
struct Record {
    thread: ThreadId,
    /// The thread's time when it acquired the lock.
    acquired: Time,
    /// Happens-before at the release.
    happened: SnapshotId,
}

/// Sections of a lock that are in an order, with how far each reader has come.
#[derive(Default, Debug)]
struct Sequence {
    records: Vec<Record>,
    cursors: Vec<(ThreadId, u32)>,
}

#[derive(Default, Debug)]
struct LockSections {
    exclusive: Sequence,
    /// By thread (I2).
    shared: Vec<(ThreadId, Sequence)>,
}

/// The latest section of a thread, on some lock, with an access to some variable.
#[derive(Clone, Copy, Debug)]
struct Touched {
    thread: ThreadId,
    writes: bool,
    mode: LockMode,
    /// The thread's time at the release.
    released: Time,
    happened: SnapshotId,
}

/// All sections of a trace.
#[derive(Default, Debug)]
pub(super) struct Sections {
    locks: IdVec<LockId, LockSections>,
    touched: FxHashMap<(LockId, VarId), Vec<Touched>>,
    pub(super) snapshots: Snapshots,
    recorded: usize,
}

/// A section of the thread that asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) thread: ThreadId,
    pub(super) lock: LockId,
    pub(super) mode: LockMode,
}

impl Sections {
    pub(super) fn reserve(&mut self, locks: usize) {
        self.locks.grow_to(locks);
    }

    /// Rule (a): the ends of other threads' sections with a conflict, each with its thread's time.
    #[inline]
    pub(super) fn conflicting(
        &self,
        own: Own,
        var: VarId,
        writes: bool,
    ) -> impl Iterator<Item = (ThreadId, Time, SnapshotId)> {
        let touched = self.touched.get(&(own.lock, var)).map_or(&[][..], Vec::as_slice);
        touched
            .iter()
            .filter(move |one| {
                one.thread != own.thread && (one.writes || writes) && own.mode.excludes(one.mode)
            })
            .map(|one| (one.thread, one.released, one.happened))
    }

    /// Rule (b): the ends of other threads' sections that the one which ends now must come after, given the time up to which
    /// each thread comes weakly before. Of sections in an order, the last one.
    pub(super) fn ordered(&mut self, own: Own, weak: impl Fn(ThreadId) -> Time, ends: &mut Vec<SnapshotId>) {
        let LockSections { exclusive, shared } = &mut self.locks[own.lock];
        ends.extend(exclusive.advance(own.thread, &weak));
        if own.mode == LockMode::Exclusive {
            for (thread, sequence) in shared {
                if *thread != own.thread {
                    ends.extend(sequence.advance(own.thread, &weak));
                }
            }
        }
    }

    /// Records the end of a section with the accesses inside. `happened` is the clock of the release.
    pub(super) fn end(
        &mut self,
        own: Own,
        [acquired, released]: [Time; 2],
        happened: SnapshotId,
        accesses: &[(VarId, bool)],
    ) {
        let record = Record { thread: own.thread, acquired, happened };
        self.snapshots.retain(happened);
        self.recorded += 1;
        let LockSections { exclusive, shared } = &mut self.locks[own.lock];
        match own.mode {
            LockMode::Exclusive => exclusive.records.push(record),
            LockMode::Shared => match shared.iter_mut().find(|(thread, _)| *thread == own.thread) {
                Some((_, sequence)) => sequence.records.push(record),
                None => shared.push((own.thread, Sequence { records: vec![record], ..Sequence::default() })),
            },
        }
        for &(var, writes) in accesses {
            let touched = self.touched.entry((own.lock, var)).or_default();
            let same =
                |one: &&mut Touched| (one.thread, one.writes, one.mode) == (own.thread, writes, own.mode);
            self.snapshots.retain(happened);
            match touched.iter_mut().find(same) {
                Some(one) => {
                    self.snapshots.release(std::mem::replace(&mut one.happened, happened));
                    one.released = released;
                }
                None => {
                    touched.push(Touched { thread: own.thread, writes, mode: own.mode, released, happened });
                }
            }
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.locks.table_bytes()
            + self.recorded * size_of::<Record>()
            + self.touched.len() * (size_of::<((LockId, VarId), Vec<Touched>)>() + 2 * size_of::<Touched>())
            + self.snapshots.heap_bytes()
    }
}

impl Sequence {
    /// Moves the reader's cursor over the sections whose acquires come weakly before, and over its own. The end of the last
    /// one passed that is not its own.
    fn advance(&mut self, reader: ThreadId, weak: &impl Fn(ThreadId) -> Time) -> Option<SnapshotId> {
        let at = match self.cursors.iter().position(|&(thread, _)| thread == reader) {
            Some(at) => at,
            None => {
                self.cursors.push((reader, 0));
                self.cursors.len() - 1
            }
        };
        let cursor = &mut self.cursors[at].1;
        let mut end = None;
        for record in &self.records[*cursor as usize..] {
            if record.thread != reader {
                if record.acquired > weak(record.thread) {
                    break;
                }
                end = Some(record.happened); // I1
            }
            *cursor += 1;
        }
        end
    }
}

//! All critical sections of a trace that can still matter, and the reads of recordings that are entered like them.

use overtake_clock::{SnapshotId, Snapshots, Stamp, Time};
use overtake_trace::{IdVec, LockId, ThreadId};

use crate::detector::LockMode;

/// One critical section of a thread.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    /// When the thread acquired the lock, in its own time.
    pub(super) acquired: Time,
    /// The acquire's number among all acquires of the lock, from 1.
    pub(super) number: u32,
    pub(super) lock: LockId,
    /// When the section ended, in the thread's own time; 0 while it is open.
    pub(super) released: Time,
    /// What the thread had learned when the section ended.
    pub(super) learned: SnapshotId,
    pub(super) mode: LockMode,
}

/// What is known of a lock whatever the ideal.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LockFacts {
    acquires: u32,
    pub(super) ever_shared: bool,
    /// The largest numbers of acquires whose sections were forgotten: of any acquire, and of an exclusive one.
    forgotten: u32,
    forgotten_exclusive: u32,
}

/// All critical sections that can still matter, with the clocks of their ends.
#[derive(Default, Debug)]
pub(crate) struct Sections {
    pub(super) snapshots: Snapshots,
    pub(super) threads: IdVec<ThreadId, Vec<Section>>,
    pub(super) locks: IdVec<LockId, LockFacts>,
    kept: usize,
    forgotten: u64,
    /// What reads that are entered like sections may have seen; see `chart.rs`.
    pub(super) seen: Vec<Vec<Stamp>>,
}

/// The place of a section that was forgotten, which is one that ended inside every ideal.
pub(super) const FORGOTTEN: u32 = u32::MAX;

/// Stands for a lock in the entry of a read that may have seen several writes; its number is its place in [`Sections::seen`].
pub(super) const READ: LockId = LockId(u32::MAX);

impl Sections {
    pub(super) fn reserve(&mut self, threads: usize, locks: usize) {
        self.threads.grow_to(threads);
        self.locks.grow_to(locks);
    }

    /// Records an acquire; the result is the section's place and what an ideal needs to know of it.
    #[inline]
    pub(super) fn begin(&mut self, thread: ThreadId, acquired: Time, lock: LockId, mode: LockMode) -> u32 {
        let facts = &mut self.locks[lock];
        facts.acquires = facts.acquires.saturating_add(1);
        facts.ever_shared |= mode == LockMode::Shared;
        let number = facts.acquires;
        let sections = &mut self.threads[thread];
        sections.push(Section { acquired, number, lock, released: 0, learned: SnapshotId::EMPTY, mode });
        self.kept += 1;
        sections.len() as u32 - 1
    }

    /// Records a read that may have seen several writes, in the order of the thread's acquires. Returns its number.
    pub(super) fn read(&mut self, thread: ThreadId, time: Time) -> u32 {
        let number = self.seen.len() as u32;
        self.seen.push(Vec::new());
        let (released, learned, mode) = (0, SnapshotId::EMPTY, LockMode::Exclusive);
        let read = Section { acquired: time, number, lock: READ, released, learned, mode };
        self.threads[thread].push(read);
        number
    }

    /// The numbers of a thread's reads up to a time.
    pub(super) fn reads_until(&self, thread: ThreadId, time: Time) -> impl Iterator<Item = u32> {
        let entries = self.threads.get(thread).map_or(&[][..], |entries| entries);
        let until = entries.iter().take_while(move |entry| entry.acquired <= time);
        until.filter(|entry| entry.lock == READ).map(|entry| entry.number)
    }

    /// How many entries a thread has.
    pub(super) fn of_thread(&self, thread: ThreadId) -> u32 {
        self.threads[thread].len() as u32
    }

    pub(super) fn end(&mut self, thread: ThreadId, place: u32, stamp: Stamp) {
        let section = &mut self.threads[thread][place as usize];
        section.released = stamp.epoch.time;
        section.learned = stamp.snapshot;
    }

    pub(super) fn at(&self, thread: u32, place: u32) -> &Section {
        &self.threads[ThreadId(thread)][place as usize]
    }

    /// How many sections are recorded.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// How many sections were forgotten.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(super) fn state_bytes(&self) -> usize {
        let sections: usize =
            self.threads.iter().map(|sections| sections.capacity() * size_of::<Section>()).sum();
        self.snapshots.heap_bytes() + self.threads.table_bytes() + self.locks.table_bytes() + sections
    }

    /// Forgets every section that ended within `known`, which every ideal to come contains.
    ///
    /// Of such a section an ideal needs to know only that a later acquire of its lock is inside, for the sake of sections
    /// that did not end within `known`; that is the largest forgotten number of each lock. The result says, per thread,
    /// where each section went.
    pub(super) fn forget(&mut self, known: &[Time]) -> Moves {
        let Sections { snapshots, threads, locks, kept, forgotten, seen: _ } = self;
        let mut moves = Vec::with_capacity(threads.len());
        for (thread, sections) in threads.iter_mut().enumerate() {
            let known = known.get(thread).copied().unwrap_or(0);
            let mut places = Vec::with_capacity(sections.len());
            let mut next = 0;
            sections.retain(|section| {
                let keep = section.released == 0 || section.released > known;
                places.push(if keep { next } else { FORGOTTEN });
                next += u32::from(keep);
                if !keep {
                    snapshots.release(section.learned);
                    locks[section.lock].forget(section);
                }
                keep
            });
            let gone = places.len() - sections.len();
            *kept -= gone;
            *forgotten += gone as u64;
            if sections.capacity() > 4 * sections.len() + 64 {
                sections.shrink_to(2 * sections.len());
            }
            moves.push(places);
        }
        Moves { moves }
    }
}

impl LockFacts {
    fn forget(&mut self, section: &Section) {
        self.forgotten = self.forgotten.max(section.number);
        if section.mode == LockMode::Exclusive {
            self.forgotten_exclusive = self.forgotten_exclusive.max(section.number);
        }
    }

    /// The largest number of a forgotten acquire that may not overlap one of this mode.
    #[inline]
    pub(super) fn forgotten_for(&self, mode: LockMode) -> u32 {
        match mode {
            LockMode::Exclusive => self.forgotten,
            LockMode::Shared => self.forgotten_exclusive,
        }
    }
}

/// Where sections went when some were forgotten.
pub(super) struct Moves {
    moves: Vec<Vec<u32>>,
}

impl Moves {
    /// How many of a thread's first `count` sections are left.
    pub(super) fn left(&self, thread: usize, count: u32) -> u32 {
        let Some(places) = self.moves.get(thread) else { return count };
        places[..count as usize].iter().rev().find(|&&place| place != FORGOTTEN).map_or(0, |&place| place + 1)
    }

    /// The new place of a section that is still there.
    pub(super) fn place(&self, thread: usize, place: u32) -> u32 {
        if place == FORGOTTEN { FORGOTTEN } else { self.moves[thread][place as usize] }
    }
}

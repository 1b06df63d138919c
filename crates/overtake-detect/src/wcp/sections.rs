//! Critical sections as the weak order needs them: the ends of each lock's sections, and the variables accessed inside.
//!
//! **Invariants.**
//!   I1  Exclusive sections of a lock are recorded in the order in which they ran, which is an order of happens-before. So
//!       what is true of an acquire is true of the earlier ones, and the clock of a release contains those of earlier ones.
//!   I2  The same holds for the shared sections of one thread, but not between threads: they are recorded by thread.
//!   I3  A thread joins the ends of all sections that conflict with its access when it makes the access. So what stands before an
//!       exclusive section that writes the variable is needed by nobody: other threads join the end of that section, which
//!       contains it (I1), and its own thread knows it already. Of exclusive sections that only read, the last ones of two threads are
//!       enough: whoever writes is another thread than one of the two.
//!   I4  Only a section in which its thread handed out its clock is recorded: in others, whoever knows the time of the acquire knows
//!       the end.
//!   I5  An end that all other threads know weakly changes nothing any more, and is dropped by `sweep`.

use overtake_clock::{Stamp, Time, VectorClock};
use overtake_trace::{IdVec, LockId, ThreadId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::store::Store;
use super::survey::Slot;
use super::sweep::Known;
use crate::detector::LockMode;

/// A section that ended.
#[derive(Clone, Copy, Debug)]
struct Record {
    /// The thread's time when it acquired the lock.
    acquired: Time,
    end: Stamp,
    /// How many records just before it are of its thread.
    run: u32,
}

/// Sections of a lock that are in an order.
#[derive(Default, Debug)]
struct Sequence {
    records: Vec<Record>,
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
    end: Stamp,
    writes: bool,
    mode: LockMode,
}

/// All sections of a trace.
#[derive(Default, Debug)]
pub(super) struct Sections {
    locks: IdVec<LockId, LockSections>,
    /// In the order of their ends.
    touched: FxHashMap<(LockId, Slot), SmallVec<[Touched; 1]>>,
    /// How many ends were noted since the last sweep.
    pub(super) noted: usize,
}

/// A section of the thread that asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) thread: ThreadId,
    pub(super) lock: LockId,
    pub(super) mode: LockMode,
}

impl Sections {
    pub(super) fn grow_to(&mut self, locks: usize) {
        self.locks.grow_to(locks);
    }

    /// Rule (a): the ends of other threads' sections with a conflict.
    #[inline]
    pub(super) fn conflicting(&self, own: Own, var: Slot, writes: bool) -> impl Iterator<Item = Stamp> {
        let touched = self.touched.get(&(own.lock, var)).map_or(&[][..], |touched| touched);
        let conflicts = move |one: &&Touched| {
            one.end.epoch.thread != own.thread.0 && (one.writes || writes) && own.mode.excludes(one.mode)
        };
        touched.iter().filter(conflicts).map(|one| one.end)
    }

    /// Rule (b): the end of another thread's section that the one which ends now must come after, and does not yet by what comes
    /// weakly before.
    #[inline]
    pub(super) fn cut(&self, own: Own, weak: &VectorClock) -> Option<Stamp> {
        let LockSections { exclusive, shared } = &self.locks[own.lock];
        exclusive.cut(own, weak).or_else(|| {
            let mut shared = shared.iter().filter(|(thread, _)| *thread != own.thread);
            let is_exclusive = own.mode == LockMode::Exclusive;
            is_exclusive.then(|| shared.find_map(|(_, sequence)| sequence.cut(own, weak))).flatten()
        })
    }

    /// Records the end of a section with the accesses inside.
    pub(super) fn end(
        &mut self,
        own: Own,
        acquired: Time,
        end: Stamp,
        accesses: &[(Slot, bool)],
        store: &mut Store,
    ) {
        if acquired < end.epoch.time {
            let LockSections { exclusive, shared } = &mut self.locks[own.lock]; // I4
            let sequence = match own.mode {
                LockMode::Exclusive => exclusive,
                LockMode::Shared => of_thread(shared, own.thread),
            };
            store.retain(end.snapshot);
            sequence.add(acquired, end);
            self.noted += 1;
        }
        for &(var, writes) in accesses {
            let touched = self.touched.entry((own.lock, var)).or_default();
            store.retain(end.snapshot);
            forget_for(touched, own, writes, store);
            touched.push(Touched { end, writes, mode: own.mode });
            self.noted += 1;
        }
    }

    /// Drops what all know (I5). How much is left.
    pub(super) fn sweep(&mut self, known: &Known, store: &mut Store) -> usize {
        self.noted = 0;
        let mut left = 0;
        for LockSections { exclusive, shared } in self.locks.iter_mut() {
            for sequence in shared.iter_mut().map(|(_, sequence)| sequence).chain([exclusive]) {
                sequence.sweep(known, store);
                left += sequence.records.len();
            }
        }
        self.touched.retain(|_, touched| {
            touched.retain(|one| known.keeps(one.end, store));
            left += touched.len();
            !touched.is_empty()
        });
        if self.touched.capacity() > 8 * self.touched.len() {
            self.touched.shrink_to(4 * self.touched.len());
        }
        left
    }

    pub(super) fn state_bytes(&self) -> usize {
        let sections = |lock: &LockSections| {
            let shared: usize = lock.shared.iter().map(|(_, sequence)| sequence.state_bytes()).sum();
            shared + lock.exclusive.state_bytes()
        };
        self.locks.iter().map(sections).sum::<usize>()
            + self.locks.table_bytes()
            + self.touched.capacity() * size_of::<((LockId, Slot), SmallVec<[Touched; 1]>)>()
    }
}

fn of_thread(shared: &mut Vec<(ThreadId, Sequence)>, thread: ThreadId) -> &mut Sequence {
    let known = shared.iter().position(|(user, _)| *user == thread);
    let at = known.unwrap_or_else(|| {
        shared.push((thread, Sequence::default()));
        shared.len() - 1
    });
    &mut shared[at].1
}

/// Forgets what nobody needs when a section with an access is added (I3).
fn forget_for(touched: &mut SmallVec<[Touched; 1]>, own: Own, writes: bool, store: &mut Store) {
    let is_exclusive = own.mode == LockMode::Exclusive;
    // From the end: how many exclusive sections of others that only read were kept.
    let mut readers = 0;
    for at in (0..touched.len()).rev() {
        let one = touched[at];
        let is_same = (one.end.epoch.thread, one.writes, one.mode) == (own.thread.0, writes, own.mode);
        let is_reader = !one.writes && one.mode == LockMode::Exclusive && !is_same;
        let is_hidden = is_exclusive && !writes && is_reader && readers > 0;
        readers += u32::from(is_reader);
        if is_same || is_hidden || (is_exclusive && writes) {
            store.release(one.end.snapshot);
            touched.remove(at);
        }
    }
}

impl Sequence {
    fn add(&mut self, acquired: Time, end: Stamp) {
        let run = self.run_before(self.records.len(), end);
        self.records.push(Record { acquired, end, run });
    }

    /// How many records just before a place are of the thread of an end.
    fn run_before(&self, place: usize, end: Stamp) -> u32 {
        let before = place.checked_sub(1).map(|before| self.records[before]);
        let same = before.filter(|before| before.end.epoch.thread == end.epoch.thread);
        same.map_or(0, |before| before.run + 1)
    }

    /// The end of the last section of another thread whose acquire comes weakly before, unless the end does so already. Then
    /// those of earlier sections do so, too (I1).
    #[inline]
    fn cut(&self, own: Own, weak: &VectorClock) -> Option<Stamp> {
        let mut last = None;
        let (mut low, mut high) = (0, self.records.len());
        while low < high {
            let middle = (low + high) / 2;
            let record = &self.records[middle];
            let is_own = record.end.epoch.thread == own.thread.0;
            let other = if is_own { middle.checked_sub(record.run as usize + 1) } else { Some(middle) };
            let Some(at) = other.filter(|&at| at >= low) else {
                low = middle + 1;
                continue;
            };
            let Record { acquired, end, .. } = self.records[at];
            if acquired <= weak.get(end.epoch.thread) {
                (last, low) = (Some(end), middle + 1);
            } else {
                high = at;
            }
        }
        last.filter(|end| !weak.covers(end.epoch))
    }

    fn sweep(&mut self, known: &Known, store: &mut Store) {
        self.records.retain(|record| known.keeps(record.end, store));
        for place in 0..self.records.len() {
            self.records[place].run = self.run_before(place, self.records[place].end);
        }
        self.records.shrink_to(2 * self.records.len());
    }

    fn state_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>()
    }
}

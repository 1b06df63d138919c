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
//!   I4  Records that all threads have passed which end a section of the lock later on are dropped.

use std::collections::VecDeque;

use overtake_clock::{SnapshotId, Snapshots, Time};
use overtake_trace::{IdVec, LockId, ThreadId};
use rustc_hash::FxHashMap;

use super::survey::{Slot, User};
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

/// Sections of a lock that are in an order, with how far each user of the lock has come.
#[derive(Default, Debug)]
struct Sequence {
    records: VecDeque<Record>,
    /// How many records were dropped in front of these.
    dropped: u64,
    /// By user, the number of records passed.
    cursors: Vec<u64>,
    /// With how many records to look next for some to drop.
    look_at: usize,
}

#[derive(Default, Debug)]
struct LockSections {
    users: Vec<User>,
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
    /// In the order of their ends.
    touched: FxHashMap<(LockId, Slot), Vec<Touched>>,
    pub(super) snapshots: Snapshots,
}

/// A section of the thread that asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) thread: ThreadId,
    pub(super) lock: LockId,
    pub(super) mode: LockMode,
    /// The place of the thread among the users of the lock.
    pub(super) user: u32,
}

impl Sections {
    pub(super) fn new(mut users: IdVec<LockId, Vec<User>>) -> Sections {
        let mut sections = Sections::default();
        for users in users.iter_mut().map(std::mem::take) {
            let exclusive = Sequence::new(users.len());
            sections.locks.push(LockSections { users, exclusive, shared: Vec::new() });
        }
        sections
    }

    /// A section that begins; none if nobody else uses the lock.
    pub(super) fn begin(&self, thread: ThreadId, lock: LockId, mode: LockMode) -> Option<Own> {
        let users = self.locks.get(lock).map_or(&[][..], |lock| &lock.users);
        let user = users.binary_search_by_key(&thread, |user| user.thread);
        match user {
            Ok(user) if users.len() > 1 => Some(Own { thread, lock, mode, user: user as u32 }),
            _ => None,
        }
    }

    /// Rule (a): the ends of other threads' sections with a conflict, each with its thread's time.
    #[inline]
    pub(super) fn conflicting(
        &self,
        own: Own,
        var: Slot,
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
        let LockSections { exclusive, shared, .. } = &mut self.locks[own.lock];
        ends.extend(exclusive.advance(own, &weak));
        if own.mode == LockMode::Exclusive {
            for (thread, sequence) in shared {
                if *thread != own.thread {
                    ends.extend(sequence.advance(own, &weak));
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
        accesses: &[(Slot, bool)],
    ) {
        let record = Record { thread: own.thread, acquired, happened };
        self.snapshots.retain(happened);
        let LockSections { users, exclusive, shared } = &mut self.locks[own.lock];
        let left = &mut users[own.user as usize].left[own.mode as usize];
        *left = left.saturating_sub(1);
        match own.mode {
            LockMode::Exclusive => {
                exclusive.add(record, &mut self.snapshots, users, |user| user.left != [0, 0]);
            }
            LockMode::Shared => {
                let known = shared.iter().position(|(thread, _)| *thread == own.thread);
                let at = known.unwrap_or_else(|| {
                    shared.push((own.thread, Sequence::new(users.len())));
                    shared.len() - 1
                });
                let needs =
                    |user: &User| user.thread != own.thread && user.left[LockMode::Exclusive as usize] > 0;
                shared[at].1.add(record, &mut self.snapshots, users, needs);
            }
        }
        for &(var, writes) in accesses {
            let touched = self.touched.entry((own.lock, var)).or_default();
            self.snapshots.retain(happened);
            forget_for(touched, own, writes, &mut self.snapshots);
            touched.push(Touched { thread: own.thread, writes, mode: own.mode, released, happened });
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        let sections = |lock: &LockSections| {
            let shared: usize = lock.shared.iter().map(|(_, sequence)| sequence.state_bytes()).sum();
            shared + lock.exclusive.state_bytes() + lock.users.capacity() * size_of::<User>()
        };
        self.locks.iter().map(sections).sum::<usize>()
            + self.locks.table_bytes()
            + self.touched.len() * (size_of::<((LockId, Slot), Vec<Touched>)>() + 2 * size_of::<Touched>())
            + self.snapshots.heap_bytes()
    }
}

/// Forgets what nobody needs when a section with an access is added (I3).
fn forget_for(touched: &mut Vec<Touched>, own: Own, writes: bool, snapshots: &mut Snapshots) {
    let is_exclusive = own.mode == LockMode::Exclusive;
    // From the end: how many exclusive sections of others that only read were kept.
    let mut readers = 0;
    for at in (0..touched.len()).rev() {
        let one = touched[at];
        let is_same = (one.thread, one.writes, one.mode) == (own.thread, writes, own.mode);
        let is_reader = !one.writes && one.mode == LockMode::Exclusive && !is_same;
        let is_hidden = is_exclusive && !writes && is_reader && readers > 0;
        readers += u32::from(is_reader);
        if is_same || is_hidden || (is_exclusive && writes) {
            snapshots.release(one.happened);
            touched.remove(at);
        }
    }
}

impl Sequence {
    fn new(users: usize) -> Sequence {
        Sequence { cursors: vec![0; users], look_at: 2 * users + 16, ..Sequence::default() }
    }

    /// Moves the reader's cursor over the sections whose acquires come weakly before, and over its own. The end of the last
    /// one passed that is not its own.
    fn advance(&mut self, own: Own, weak: &impl Fn(ThreadId) -> Time) -> Option<SnapshotId> {
        let cursor = &mut self.cursors[own.user as usize];
        let mut end = None;
        for record in self.records.range(cursor.saturating_sub(self.dropped) as usize..) {
            if record.thread != own.thread {
                if record.acquired > weak(record.thread) {
                    break;
                }
                end = Some(record.happened); // I1
            }
            *cursor += 1;
        }
        end
    }

    /// Adds a record, and from time to time drops those that all who need them have passed (I4).
    fn add(
        &mut self,
        record: Record,
        snapshots: &mut Snapshots,
        users: &[User],
        needs: impl Fn(&User) -> bool,
    ) {
        self.records.push_back(record);
        if self.records.len() < self.look_at {
            return;
        }
        let needed = users.iter().zip(&self.cursors).filter(|(user, _)| needs(user));
        let end = self.dropped + self.records.len() as u64;
        let passed = needed.map(|(_, &cursor)| cursor).min().unwrap_or(end);
        for record in self.records.drain(..passed.saturating_sub(self.dropped) as usize) {
            snapshots.release(record.happened);
        }
        self.dropped = self.dropped.max(passed);
        self.look_at = 2 * (self.records.len() + users.len()) + 16;
    }

    fn state_bytes(&self) -> usize {
        self.records.capacity() * size_of::<Record>() + self.cursors.capacity() * size_of::<u64>()
    }
}

//! The closed clock of every thread, kept up to date event by event.
//!
//! **State.** Per thread an [`Ideal`]: the smallest closed set that holds all the thread did. A thread's time is over, and
//! the next one begins, when the thread acquires a lock and when its clock is handed out: at a release, fork or post, when
//! it is joined, and at a write, which a read may see. All events of one time are inside a closed set or none is, unless
//! the set ends with the thread's current time; so nothing finer is needed to tell events of different threads apart.
//!
//! Because the clocks are closed, the closure of what precedes two accesses starts from the second thread's ideal and
//! adds one stamp; and an access that the second thread's ideal covers needs no closure at all.

use overtake_clock::{Epoch, SnapshotId, Snapshots, Stamp, Time, VectorClock};
use overtake_rules::{OpenSection, OpenSections};
use overtake_trace::{Id, IdVec, LockId, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::closure::{Buffers, Changes, Ideal, LockTable, NO_GOAL, Overlay};
use super::sections::Sections;
use crate::detector::LockMode;

/// The clocks of all threads, with what they share.
#[derive(Default, Debug)]
pub(crate) struct Clocks {
    pub(super) sections: Sections,
    threads: IdVec<ThreadId, ThreadState>,
    /// Per object, the last post of each thread.
    posts: IdVec<SyncId, Vec<Stamp>>,
    pending: Vec<Stamp>,
    scratch: Scratch,
    /// Per heap block that another thread may use, its allocation.
    allocations: FxHashMap<VarId, Stamp>,
}

#[derive(Debug)]
struct ThreadState {
    past: Ideal<LockTable>,
    /// The thread's time. Its past covers the times before.
    time: Time,
    snapshot: SnapshotId,
    snapshot_is_current: bool,
    /// Sections not ended, with their places.
    open: OpenSections<Vec<OpenSection<LockId, u32>>>,
    /// If the thread's past was given back: what it was taught since, by late forks of it.
    retired: Option<Vec<Stamp>>,
}

/// An ideal to look at and throw away.
#[derive(Default, Debug)]
struct Scratch {
    buffers: Buffers,
    changes: Changes,
}

impl ThreadState {
    fn new(thread: ThreadId) -> ThreadState {
        ThreadState {
            past: Ideal::new(thread, LockTable::default()),
            time: 1,
            snapshot: SnapshotId::EMPTY,
            snapshot_is_current: true,
            open: OpenSections::default(),
            retired: None,
        }
    }

    /// The thread's time is over.
    #[inline]
    fn tick(&mut self) {
        self.past.advance(self.time);
        // The last time is never over: what happens in it may look ordered, so races may be missed, never invented.
        self.time = self.time.saturating_add(1).min(Time::MAX - 1);
    }

    #[inline]
    fn snapshot(&mut self, snapshots: &mut Snapshots) -> SnapshotId {
        if !self.snapshot_is_current {
            snapshots.release(self.snapshot);
            self.snapshot = snapshots.insert(self.past.learned());
            self.snapshot_is_current = true;
        }
        snapshots.retain(self.snapshot);
        self.snapshot
    }
}

impl Clocks {
    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        self.sections.reserve(sizes.threads, sizes.locks);
        for thread in self.threads.len()..sizes.threads {
            self.threads.push(ThreadState::new(ThreadId(thread as u32)));
        }
        self.posts.grow_to(sizes.objects);
    }

    /// The thread's time, and whose it is.
    #[inline]
    pub(crate) fn epoch(&self, thread: ThreadId) -> Epoch {
        Epoch { thread: thread.0, time: self.threads[thread].time }
    }

    /// What the thread's events so far need of others. The caller owns a reference.
    #[inline]
    pub(crate) fn learned(&mut self, thread: ThreadId) -> SnapshotId {
        self.threads[thread].snapshot(&mut self.sections.snapshots)
    }

    /// The event of `stamp` has allocated a block.
    pub(crate) fn allocate(&mut self, block: VarId, stamp: Stamp) {
        self.sections.snapshots.retain(stamp.snapshot);
        self.allocations.insert(block, stamp);
    }

    /// What the thread's events so far need of others, and what it takes to have a block allocated. The caller owns a reference.
    pub(crate) fn learned_with(&mut self, thread: ThreadId, block: Option<VarId>) -> SnapshotId {
        let allocation = block.and_then(|block| self.allocations.get(&block)).copied();
        let past = &self.threads[thread].past;
        let Some(stamp) = allocation.filter(|stamp| !past.covers(stamp.epoch)) else {
            return self.learned(thread);
        };
        let mut needed = VectorClock::default();
        needed.join(past.learned());
        self.sections.snapshots.join_into(&mut needed, stamp);
        self.sections.snapshots.insert(needed.times())
    }

    /// The closed set of the thread's events before its current time, and of what those and the events of its current
    /// time need.
    #[inline]
    pub(super) fn past(&self, thread: ThreadId) -> &Ideal<LockTable> {
        &self.threads[thread].past
    }

    /// The clock of all the thread did; its time is over. The caller owns a reference.
    #[inline]
    pub(crate) fn publish(&mut self, thread: ThreadId) -> Stamp {
        let state = &mut self.threads[thread];
        let snapshot = state.snapshot(&mut self.sections.snapshots);
        let stamp = Stamp { snapshot, epoch: Epoch { thread: thread.0, time: state.time } };
        state.tick();
        stamp
    }

    /// The thread's time is over because it read what may have been written by several threads.
    pub(super) fn end_read(&mut self, thread: ThreadId) {
        self.threads[thread].tick();
    }

    /// Records the read that the thread is about to end; see `chart.rs`. Returns its number.
    pub(super) fn record_read(&mut self, thread: ThreadId) -> u32 {
        let state = &mut self.threads[thread];
        let place = self.sections.of_thread(thread);
        let number = self.sections.read(thread, state.time);
        state.past.begin_own(place);
        number
    }

    /// From now on the thread's events need the event of `stamp`.
    #[inline]
    pub(crate) fn learn(&mut self, thread: ThreadId, stamp: Stamp) {
        let state = &mut self.threads[thread];
        if state.past.covers(stamp.epoch) {
            return;
        }
        if let Some(late) = &mut state.retired {
            self.sections.snapshots.retain(stamp.snapshot);
            late.push(stamp);
            return;
        }
        state.snapshot_is_current = false;
        state.past.extend(stamp, &self.sections, &mut self.pending, NO_GOAL);
    }

    pub(crate) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let state = &mut self.threads[thread];
        let place = self.sections.begin(thread, state.time, lock, mode);
        state.open.acquire(lock, mode, place);
        state.tick();
        if state.past.enter_own(thread, place, &self.sections, &mut self.pending) {
            state.snapshot_is_current = false;
        }
    }

    pub(crate) fn release(&mut self, thread: ThreadId, lock: LockId) {
        let Some(open) = self.threads[thread].open.release(lock) else { return };
        let stamp = self.publish(thread);
        self.sections.end(thread, open.section, stamp);
    }

    pub(crate) fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        self.hand_over(thread, child);
    }

    pub(crate) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        self.hand_over(child, thread);
    }

    /// Gives the past of a thread that does nothing any more back, so that many threads that come and go take little room.
    /// Its last clock stays, for further joins.
    pub(super) fn retire(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread];
        state.past = Ideal::new(thread, LockTable::default());
        state.retired.get_or_insert_default();
    }

    fn hand_over(&mut self, from: ThreadId, to: ThreadId) {
        let stamp = self.publish(from);
        self.learn(to, stamp);
        self.sections.snapshots.release(stamp.snapshot);
        for at in 0..self.threads[from].retired.as_ref().map_or(0, Vec::len) {
            let late = self.threads[from].retired.as_ref().map(|late| late[at]);
            late.into_iter().for_each(|stamp| self.learn(to, stamp));
        }
    }

    pub(crate) fn post(&mut self, thread: ThreadId, object: SyncId) {
        let stamp = self.publish(thread);
        let posts = &mut self.posts[object];
        match posts.iter_mut().find(|post| post.epoch.thread == thread.0) {
            Some(post) => {
                let before = std::mem::replace(post, stamp);
                self.sections.snapshots.release(before.snapshot);
            }
            None => posts.push(stamp),
        }
    }

    pub(crate) fn wait(&mut self, thread: ThreadId, object: SyncId) {
        for post in 0..self.posts[object].len() {
            self.learn(thread, self.posts[object][post]);
        }
    }

    /// Whether `first` is in the closure of what precedes it (its thread's times before its own, and `learned`) and of
    /// the past of `thread`. If it is not, and conflicts with the next event of `thread`, the two race.
    pub(super) fn reaches(&mut self, thread: ThreadId, first: Epoch, learned: SnapshotId) -> bool {
        self.with_closure(thread, first, learned, first, |_, reached| reached)
    }

    /// The closure of what precedes `first` and of the past of `thread`: the time up to which each thread is inside.
    pub(crate) fn closure(&mut self, thread: ThreadId, first: Epoch, learned: SnapshotId) -> Vec<Time> {
        let threads = self.threads.len() as u32;
        self.with_closure(thread, first, learned, NO_GOAL, |ideal, _| {
            (0..threads).map(|thread| ideal.time(thread)).collect()
        })
    }

    fn with_closure<R>(
        &mut self,
        thread: ThreadId,
        first: Epoch,
        learned: SnapshotId,
        goal: Epoch,
        answer: impl FnOnce(&Ideal<Overlay<'_>>, bool) -> R,
    ) -> R {
        let Scratch { buffers, changes } = &mut self.scratch;
        let mut ideal = self.threads[thread].past.overlaid(changes, std::mem::take(buffers));
        let reached = ideal.extend_by_past_of(first, learned, &self.sections, &mut self.pending, goal);
        let result = answer(&ideal, reached);
        *buffers = ideal.into_buffers();
        result
    }

    /// What the thread's past contains of each thread; nothing if no event so far named the thread.
    pub(super) fn times(&self, thread: ThreadId) -> Vec<Time> {
        let Some(ThreadState { past, .. }) = self.threads.get(thread) else { return Vec::new() };
        let mut times = past.learned().to_vec();
        let own = past.time(thread.0);
        if own > 0 {
            times.resize(times.len().max(thread.index() + 1), 0);
            times[thread.index()] = own;
        }
        times
    }

    /// Forgets sections that ended within `known`, which every closure to come contains.
    pub(super) fn forget(&mut self, known: &[Time]) {
        let moves = self.sections.forget(known);
        for (thread, state) in self.threads.iter_mut().enumerate() {
            state.past.apply(&moves);
            for open in state.open.sections_mut() {
                open.section = moves.place(thread, open.section);
            }
        }
    }

    /// How many entries the tables of threads have that a collection visits.
    pub(super) fn table_entries(&self) -> usize {
        self.threads.iter().map(|state| state.past.entries()).sum()
    }

    pub(crate) fn state_bytes(&self) -> usize {
        let threads: usize = self.threads.iter().map(|state| state.past.state_bytes()).sum();
        let posts: usize = self.posts.iter().map(|posts| posts.capacity() * size_of::<Stamp>()).sum();
        self.sections.state_bytes()
            + self.threads.table_bytes()
            + self.posts.table_bytes()
            + threads
            + posts
            + self.scratch.changes.state_bytes()
    }
}

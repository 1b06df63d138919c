//! The happens-before clock and the weak clock of every thread.
//!
//! **Invariants.**
//!   I1  A thread's time ends when its clock is handed out: at a release, fork, post, atomic access, and when it is joined. So
//!       a clock that knows a thread's time knows all that the thread knew when that time ended.
//!   I2  A weak clock takes in whole happens-before clocks of other threads only. So one that knows the time at which a clock
//!       was handed out knows that clock, and need not take it in again.
//!   I3  Who learns of a thread's time by happens-before learns what came weakly before it, too. So an acquire that learns nothing by
//!       happens-before learns nothing weakly.

use std::ops::Range;

use overtake_clock::{Epoch, SnapshotId, Stamp, Time, VectorClock};
use overtake_trace::{EventIndex, Id, IdVec, LockId, Sizes, SyncId, ThreadId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::sections::{Own, Sections};
use super::store::{Growing, Store};
use super::survey::{Life, Slot};
use super::sweep::Known;
use crate::access::{AccessKind, At};
use crate::detector::LockMode;

/// A sweep comes after so many ends of sections at the earliest.
const SWEEP_AFTER: usize = if cfg!(test) { 1 } else { 1 << 12 };

#[derive(Debug)]
struct ThreadState {
    /// What happened before, as far as other threads did it.
    learned: Growing,
    weak: Growing,
    now: Epoch,
    is_forked: bool,
    open: Vec<Open>,
    /// The accesses since the first of the open sections began, and whether they write.
    accesses: Vec<(Slot, bool)>,
    /// The number of the section that it began last.
    begun: u64,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    own: Own,
    acquired: Time,
    /// How many accesses there were before it.
    first_access: usize,
}

/// What acquirers of a lock learn.
#[derive(Clone, Default, Debug)]
struct LockClocks {
    /// From the latest exclusive release.
    happened: Stamp,
    weak: SnapshotId,
    /// From shared releases since: what happened, and what came weakly before.
    shared: Option<Box<[VectorClock; 2]>>,
}

/// The latest atomic access of a thread to a variable.
#[derive(Clone, Copy, Debug)]
struct Atomic {
    writes: bool,
    end: Stamp,
}

/// The last section in which an access to a variable was noted, and which kinds: the number of the section times four, and two bits.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Noted(u64);

impl Noted {
    const READ: u64 = 1;
    const WRITE: u64 = 2;

    /// Notes an access within a section. False if it says nothing new: a write conflicts with all that a read conflicts with.
    #[inline]
    fn note(&mut self, section: u64, writes: bool) -> bool {
        if self.0 >> 2 != section {
            self.0 = section << 2;
        }
        let kind = if writes { Noted::WRITE } else { Noted::READ };
        let is_new = self.0 & 3 < kind;
        self.0 |= kind;
        is_new
    }
}

/// All clocks.
#[derive(Debug)]
pub(super) struct Clocks {
    threads: IdVec<ThreadId, ThreadState>,
    lives: IdVec<ThreadId, Life>,
    locks: IdVec<LockId, LockClocks>,
    /// What each poster knew. A thread's own posts order nothing weakly.
    posts: IdVec<SyncId, Vec<Stamp>>,
    atomics: FxHashMap<Slot, Vec<Atomic>>,
    /// Sections begun so far.
    begun: u64,
    sections: Sections,
    store: Store,
    /// The next sweep comes after so many ends of sections.
    sweep_after: usize,
}

impl ThreadState {
    fn new(thread: u32) -> ThreadState {
        ThreadState {
            learned: Growing::default(),
            weak: Growing::default(),
            now: Epoch { thread, time: 1 },
            is_forked: false,
            open: Vec::new(),
            accesses: Vec::new(),
            begun: 0,
        }
    }

    /// What the thread knows by happens-before; its time is over (I1). The caller owns a reference.
    #[inline]
    fn hand_out(&mut self, store: &mut Store) -> Stamp {
        let stamp = Stamp { snapshot: self.learned.copy(store), epoch: self.now };
        self.now.time = self.now.time.saturating_add(1);
        stamp
    }

    /// Learns from what another thread handed out: it happened before, and came weakly before.
    fn learn(&mut self, store: &Store, stamp: Stamp) {
        self.learned.learn(store, stamp);
        self.weak.learn(store, stamp); // I2
    }
}

/// A thread is settled; that counts if it is the first one, or the next one.
fn settle(settled: &mut Range<usize>, thread: usize) {
    if settled.start == settled.end {
        *settled = thread..thread + 1;
    } else if settled.end == thread {
        settled.end += 1;
    }
}

impl Clocks {
    /// Clocks of a trace in which threads live so long.
    pub(super) fn new(lives: IdVec<ThreadId, Life>) -> Clocks {
        Clocks {
            threads: IdVec::new(),
            lives,
            locks: IdVec::new(),
            posts: IdVec::new(),
            atomics: FxHashMap::default(),
            begun: 0,
            sections: Sections::default(),
            store: Store::default(),
            sweep_after: SWEEP_AFTER,
        }
    }

    /// Clocks that keep everything.
    pub(super) fn without_sweeps() -> Clocks {
        Clocks { sweep_after: usize::MAX, ..Clocks::new(IdVec::new()) }
    }

    pub(super) fn reserve(&mut self, sizes: &Sizes) {
        for thread in self.threads.len()..sizes.threads {
            self.threads.push(ThreadState::new(thread as u32));
        }
        self.lives.grow_to(sizes.threads);
        self.locks.grow_to(sizes.locks);
        self.sections.grow_to(sizes.locks);
        self.posts.grow_to(sizes.objects);
    }

    #[inline]
    pub(super) fn time(&self, thread: ThreadId) -> Time {
        self.threads[thread].now.time
    }

    /// Whether an access of another thread comes weakly before what `thread` does now.
    #[inline]
    pub(super) fn is_weakly_before(&self, access: Epoch, thread: ThreadId) -> bool {
        self.threads[thread].weak.covers(access)
    }

    /// Whether it happens before.
    pub(super) fn happens_before(&self, access: Epoch, thread: ThreadId) -> bool {
        self.threads[thread].learned.covers(access)
    }

    /// An access begins: rule (a), and the order of atomic accesses to the variable.
    #[inline]
    pub(super) fn access(&mut self, thread: ThreadId, var: Slot, kind: AccessKind, noted: &mut Noted) {
        if !self.threads[thread].open.is_empty() {
            self.access_in_section(thread, var, kind, noted);
        }
        if kind.is_atomic() {
            self.join_atomics(thread, var, kind);
        }
    }

    /// An access like one that was noted since the last section began says nothing new: no section ended since that excludes an
    /// open one.
    fn access_in_section(&mut self, thread: ThreadId, var: Slot, kind: AccessKind, noted: &mut Noted) {
        let Clocks { threads, sections, store, .. } = self;
        let ThreadState { open, weak, accesses, begun, .. } = &mut threads[thread];
        if !noted.note(*begun, kind.writes()) {
            return;
        }
        accesses.push((var, kind.writes()));
        for &Open { own, .. } in open.iter() {
            for end in sections.conflicting(own, var, kind.writes()) {
                weak.learn(store, end); // I2
            }
        }
    }

    #[cold]
    fn join_atomics(&mut self, thread: ThreadId, var: Slot, kind: AccessKind) {
        let state = &mut self.threads[thread];
        for atomic in self.atomics.get(&var).map_or(&[][..], Vec::as_slice) {
            if atomic.end.epoch.thread != thread.0 && (atomic.writes || kind.writes()) {
                state.learn(&self.store, atomic.end);
            }
        }
    }

    /// An atomic access is over: later ones of other threads come after it.
    pub(super) fn end_atomic(&mut self, thread: ThreadId, var: Slot, kind: AccessKind) {
        let end = self.threads[thread].hand_out(&mut self.store);
        let atomic = Atomic { writes: kind.writes(), end };
        let known = self.atomics.entry(var).or_default();
        let is_same =
            |known: &&mut Atomic| (known.end.epoch.thread, known.writes) == (thread.0, atomic.writes);
        match known.iter_mut().find(is_same) {
            Some(known) => self.store.release(std::mem::replace(known, atomic).end.snapshot),
            None => known.push(atomic),
        }
    }

    /// A section of a lock that two threads use begins.
    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let state = &mut self.threads[thread];
        let LockClocks { happened, weak, shared } = &self.locks[lock];
        if happened.epoch.thread != thread.0 && !state.learned.covers(happened.epoch) {
            state.learned.learn(&self.store, *happened);
            state.weak.join(&self.store, *weak); // I3
        }
        if let (Some(shared), LockMode::Exclusive) = (shared, mode) {
            state.learned.join_all(&shared[0]);
            state.weak.join_all(&shared[1]);
        }
        self.begun += 1;
        state.begun = self.begun;
        let (first_access, acquired) = (state.accesses.len(), state.now.time);
        state.open.push(Open { own: Own { thread, lock, mode }, acquired, first_access });
    }

    /// The section ends.
    pub(super) fn release(&mut self, at: At, lock: LockId) {
        let Clocks { threads, locks, sections, store, .. } = self;
        let state = &mut threads[at.thread];
        let Some(place) = state.open.iter().rposition(|open| open.own.lock == lock) else { return };
        let Open { own, acquired, first_access } = state.open.remove(place);
        while let Some(end) = sections.cut(own, &state.weak.clock) {
            state.weak.learn(store, end);
        }
        let end = state.hand_out(store);
        sections.end(own, acquired, end, &state.accesses[first_access..], store);
        let clocks = &mut locks[lock];
        match own.mode {
            LockMode::Exclusive => {
                store.release(std::mem::replace(&mut clocks.happened, end).snapshot);
                let weak = state.weak.copy(store);
                store.release(std::mem::replace(&mut clocks.weak, weak));
                clocks.shared = None;
            }
            LockMode::Shared => {
                let [happened, weak] = &mut **clocks.shared.get_or_insert_default();
                happened.join(state.learned.clock.times());
                happened.raise(end.epoch);
                weak.join(state.weak.clock.times());
                store.release(end.snapshot);
            }
        }
        if state.open.is_empty() {
            state.accesses.clear();
        }
        if self.sections.noted >= self.sweep_after {
            self.sweep(at.index);
        }
    }

    /// The child learns of settled threads as well.
    pub(super) fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        if thread == child {
            return;
        }
        let (parent, child) = self.threads.pair_mut(thread, child);
        for clock in [&mut child.learned, &mut child.weak] {
            clock.join_all(&parent.learned.clock);
            clock.raise(parent.now);
        }
        child.is_forked = true;
        parent.now.time = parent.now.time.saturating_add(1);
    }

    pub(super) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        let stamp = self.threads[child].hand_out(&mut self.store);
        if thread != child {
            self.threads[thread].learn(&self.store, stamp);
        }
        self.store.release(stamp.snapshot);
    }

    pub(super) fn post(&mut self, thread: ThreadId, object: SyncId) {
        let stamp = self.threads[thread].hand_out(&mut self.store);
        let posts = &mut self.posts[object];
        match posts.iter_mut().find(|posted| posted.epoch.thread == thread.0) {
            Some(posted) => self.store.release(std::mem::replace(posted, stamp).snapshot),
            None => posts.push(stamp),
        }
    }

    pub(super) fn wait(&mut self, thread: ThreadId, object: SyncId) {
        let state = &mut self.threads[thread];
        for posted in self.posts[object].iter().filter(|posted| posted.epoch.thread != thread.0) {
            state.learn(&self.store, *posted);
        }
    }

    /// Drops what all threads know that have events left, and the clocks of threads that are not heard of again.
    fn sweep(&mut self, now: EventIndex) {
        let (known, asked) = self.known_to_all(now);
        let Clocks { threads, lives, atomics, sections, store, .. } = self;
        let left = sections.sweep(&known, store);
        atomics.retain(|_, accesses| {
            accesses.retain(|access| known.keeps(access.end, store));
            !accesses.is_empty()
        });
        for (place, state) in threads.iter_mut().enumerate() {
            let is_over = lives[ThreadId::from_index(place)].last_mention < Some(now);
            let last = Epoch { time: state.now.time - 1, ..state.now };
            if is_over && known.covers(last) {
                settle(&mut store.settled, place);
            }
            if is_over {
                state.learned.forget(store);
                state.weak.forget(store);
            }
        }
        let unsettled = known.threads().saturating_sub(store.settled.len());
        self.sweep_after = SWEEP_AFTER.max(left).max(asked * unsettled / 16);
    }

    /// What all threads that have events left know weakly, or will know when they start; and how many clocks that took.
    fn known_to_all(&self, now: EventIndex) -> (Known, usize) {
        let mut starters = FxHashSet::default();
        let mut clocks = Vec::new();
        for (thread, state) in self.threads.enumerate() {
            if self.lives[thread].last_event < Some(now) {
                continue;
            }
            match self.starter(thread) {
                None => clocks.push((thread, &state.weak.clock)),
                Some(starter) if starters.insert(starter) => {
                    clocks.push((starter, &self.threads[starter].learned.clock));
                }
                Some(_) => {}
            }
        }
        let threads = clocks.iter().map(|(own, clock)| clock.times().len().max(own.index() + 1)).max();
        let mut known = Known::everything(threads.unwrap_or(0));
        for (own, clock) in &clocks {
            known.limit_to(clock, *own, &self.store.settled);
        }
        (known, clocks.len())
    }

    /// Of a thread that is yet to be forked: the nearest of the threads that start it which is at work.
    fn starter(&self, mut thread: ThreadId) -> Option<ThreadId> {
        let mut starter = None;
        while let Some(parent) = self.lives[thread].starter.filter(|_| !self.threads[thread].is_forked) {
            (starter, thread) = (Some(parent), parent);
        }
        starter
    }

    pub(super) fn state_bytes(&self) -> usize {
        let of_thread = |state: &ThreadState| {
            state.learned.clock.heap_bytes()
                + state.weak.clock.heap_bytes()
                + state.accesses.capacity() * size_of::<(Slot, bool)>()
        };
        self.threads.iter().map(of_thread).sum::<usize>()
            + self.threads.table_bytes()
            + self.lives.table_bytes()
            + self.locks.table_bytes()
            + self.atomics.len() * size_of::<(Slot, Vec<Atomic>)>()
            + self.sections.state_bytes()
            + self.store.heap_bytes()
    }
}

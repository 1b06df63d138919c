//! The happens-before clock and the weak clock of every thread.
//!
//! **Invariants.**
//!   I1  A thread's time ends when its clock is handed out: at a release, fork, post, atomic access, and when it is joined. So
//!       a clock that knows a thread's time knows all that the thread knew when that time ended.
//!   I2  A weak clock takes in whole happens-before clocks of other threads only. So one that knows the time at which a clock
//!       was handed out knows that clock, and need not take it in again.

use overtake_clock::{Epoch, SnapshotId, Time, VectorClock};
use overtake_trace::{IdVec, LockId, Sizes, SyncId, ThreadId};
use rustc_hash::FxHashMap;

use super::sections::{Own, Sections};
use super::survey::{Slot, User};
use crate::access::AccessKind;
use crate::detector::LockMode;

#[derive(Debug)]
struct ThreadState {
    /// What happened before, the thread's own time included.
    happens: VectorClock,
    weak: VectorClock,
    time: Time,
    open: Vec<Open>,
    /// The accesses since the first of the open sections began, and whether they write.
    accesses: Vec<(Slot, bool)>,
    /// Sections begun so far.
    begun: u32,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    own: Own,
    acquired: Time,
    /// How many accesses there were before it.
    first_access: usize,
}

/// What acquirers of a lock learn: from exclusive releases, and from shared ones since.
#[derive(Clone, Default, Debug)]
struct LockClocks {
    happens: [VectorClock; 2],
    weak: [VectorClock; 2],
    /// The thread that knows all of this because it released the lock last.
    known_to: Option<ThreadId>,
}

/// The latest atomic access of a thread to a variable.
#[derive(Clone, Copy, Debug)]
struct Atomic {
    thread: ThreadId,
    writes: bool,
    time: Time,
    happened: SnapshotId,
}

/// Which thread noted an access to a variable last, within which of its sections, and which kinds.
#[derive(Clone, Copy, Default, Debug)]
struct Noted {
    thread: u32,
    begun: u32,
    kinds: u8,
}

/// All clocks.
#[derive(Default, Debug)]
pub(super) struct Clocks {
    threads: IdVec<ThreadId, ThreadState>,
    locks: IdVec<LockId, LockClocks>,
    /// What each poster knew. A thread's own posts order nothing weakly.
    posts: IdVec<SyncId, Vec<(ThreadId, VectorClock)>>,
    atomics: FxHashMap<Slot, Vec<Atomic>>,
    /// By slot.
    noted: Vec<Noted>,
    sections: Sections,
    ends: Vec<SnapshotId>,
}

impl ThreadState {
    fn new(thread: u32) -> ThreadState {
        let mut happens = VectorClock::new();
        happens.raise(Epoch { thread, time: 1 });
        ThreadState {
            happens,
            weak: VectorClock::new(),
            time: 1,
            open: Vec::new(),
            accesses: Vec::new(),
            begun: 0,
        }
    }

    /// The thread's time is over (I1).
    #[inline]
    fn tick(&mut self, thread: ThreadId) {
        self.time = self.time.saturating_add(1);
        self.happens.raise(Epoch { thread: thread.0, time: self.time });
    }
}

/// Noted as a read, and as a write.
const READ: u8 = 1;
const WRITE: u8 = 2;

impl Clocks {
    /// Clocks of a trace in which so many variables matter, and locks have these users.
    pub(super) fn new(slots: usize, users: IdVec<LockId, Vec<User>>) -> Clocks {
        Clocks { noted: vec![Noted::default(); slots], sections: Sections::new(users), ..Clocks::default() }
    }

    pub(super) fn reserve(&mut self, sizes: &Sizes) {
        for thread in self.threads.len()..sizes.threads {
            self.threads.push(ThreadState::new(thread as u32));
        }
        self.locks.grow_to(sizes.locks);
        self.posts.grow_to(sizes.objects);
    }

    pub(super) fn time(&self, thread: ThreadId) -> Time {
        self.threads[thread].time
    }

    /// Whether an access of another thread comes weakly before what `thread` does now.
    #[inline]
    pub(super) fn is_weakly_before(&self, access: Epoch, thread: ThreadId) -> bool {
        self.threads[thread].weak.covers(access)
    }

    /// Whether it happens before.
    pub(super) fn happens_before(&self, access: Epoch, thread: ThreadId) -> bool {
        self.threads[thread].happens.covers(access)
    }

    /// An access begins: rule (a), and the order of atomic accesses to the variable.
    #[inline]
    pub(super) fn access(&mut self, thread: ThreadId, var: Slot, kind: AccessKind) {
        if !self.threads[thread].open.is_empty() {
            self.access_in_section(thread, var, kind);
        }
        if kind.is_atomic() {
            self.join_atomics(thread, var, kind);
        }
    }

    /// An access like one that was noted since the last section began says nothing new: no section ended since that excludes an
    /// open one, and a write conflicts with all that a read conflicts with.
    fn access_in_section(&mut self, thread: ThreadId, var: Slot, kind: AccessKind) {
        let Clocks { threads, sections, noted, .. } = self;
        let ThreadState { open, weak, accesses, begun, .. } = &mut threads[thread];
        let known = &mut noted[var.0 as usize];
        if (known.thread, known.begun) != (thread.0, *begun) {
            *known = Noted { thread: thread.0, begun: *begun, kinds: 0 };
        }
        let new = if kind.writes() { WRITE } else { READ };
        if known.kinds >= new {
            return;
        }
        known.kinds |= new;
        accesses.push((var, kind.writes()));
        for &Open { own, .. } in open.iter() {
            for (other, released, happened) in sections.conflicting(own, var, kind.writes()) {
                if weak.get(other.0) < released {
                    weak.join(sections.snapshots.times(happened)); // I2
                }
            }
        }
    }

    #[cold]
    fn join_atomics(&mut self, thread: ThreadId, var: Slot, kind: AccessKind) {
        let state = &mut self.threads[thread];
        for atomic in self.atomics.get(&var).map_or(&[][..], Vec::as_slice) {
            if atomic.thread != thread && (atomic.writes || kind.writes()) {
                let times = self.sections.snapshots.times(atomic.happened);
                if state.weak.get(atomic.thread.0) < atomic.time {
                    state.weak.join(times); // I2
                }
                state.happens.join(times);
            }
        }
    }

    /// An atomic access is over: later ones of other threads come after it.
    pub(super) fn end_atomic(&mut self, thread: ThreadId, var: Slot, kind: AccessKind) {
        let state = &mut self.threads[thread];
        let happened = self.sections.snapshots.insert(state.happens.times());
        let atomic = Atomic { thread, writes: kind.writes(), time: state.time, happened };
        let known = self.atomics.entry(var).or_default();
        match known.iter_mut().find(|known| (known.thread, known.writes) == (thread, atomic.writes)) {
            Some(known) => {
                self.sections.snapshots.release(known.happened);
                *known = atomic;
            }
            None => known.push(atomic),
        }
        state.tick(thread);
    }

    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let Some(own) = self.sections.begin(thread, lock, mode) else { return };
        let state = &mut self.threads[thread];
        let clocks = &self.locks[lock];
        if clocks.known_to != Some(thread) {
            let sources = if mode == LockMode::Exclusive { 0..2 } else { 0..1 };
            for source in sources {
                state.happens.join(clocks.happens[source].times());
                state.weak.join(clocks.weak[source].times());
            }
        }
        state.begun = state.begun.wrapping_add(1);
        let first_access = state.accesses.len();
        state.open.push(Open { own, acquired: state.time, first_access });
    }

    pub(super) fn release(&mut self, thread: ThreadId, lock: LockId) {
        let Clocks { threads, locks, sections, ends, .. } = self;
        let state = &mut threads[thread];
        let Some(at) = state.open.iter().rposition(|open| open.own.lock == lock) else { return };
        let Open { own, acquired, first_access } = state.open.remove(at);
        let mode = own.mode;
        sections.ordered(own, |other| state.weak.get(other.0), ends);
        for end in ends.drain(..) {
            state.weak.join(sections.snapshots.times(end));
        }
        let happened = sections.snapshots.insert(state.happens.times());
        sections.end(own, [acquired, state.time], happened, &state.accesses[first_access..]);
        sections.snapshots.release(happened);
        let clocks = &mut locks[lock];
        clocks.known_to = (mode == LockMode::Exclusive).then_some(thread);
        if mode == LockMode::Exclusive {
            clocks.happens.iter_mut().chain(&mut clocks.weak).for_each(VectorClock::clear);
        }
        clocks.happens[mode as usize].join(state.happens.times());
        clocks.weak[mode as usize].join(state.weak.times());
        if state.open.is_empty() {
            state.accesses.clear();
        }
        state.tick(thread);
    }

    pub(super) fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        let times = self.threads[thread].happens.clone();
        self.learn(child, &times);
        self.threads[thread].tick(thread);
    }

    pub(super) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        let times = self.threads[child].happens.clone();
        self.learn(thread, &times);
        self.threads[child].tick(child);
    }

    pub(super) fn post(&mut self, thread: ThreadId, object: SyncId) {
        let state = &mut self.threads[thread];
        let posts = &mut self.posts[object];
        match posts.iter_mut().find(|(poster, _)| *poster == thread) {
            Some((_, posted)) => posted.clone_from(&state.happens),
            None => posts.push((thread, state.happens.clone())),
        }
        state.tick(thread);
    }

    pub(super) fn wait(&mut self, thread: ThreadId, object: SyncId) {
        let Clocks { threads, posts, .. } = self;
        let state = &mut threads[thread];
        for (_, posted) in posts[object].iter().filter(|(poster, _)| *poster != thread) {
            state.happens.join(posted.times());
            state.weak.join(posted.times());
        }
    }

    fn learn(&mut self, thread: ThreadId, times: &VectorClock) {
        let state = &mut self.threads[thread];
        state.happens.join(times.times());
        state.weak.join(times.times());
    }

    pub(super) fn state_bytes(&self) -> usize {
        let threads: usize = self
            .threads
            .iter()
            .map(|state| state.happens.heap_bytes() + state.weak.heap_bytes() + state.accesses.capacity() * 8)
            .sum();
        threads
            + self.threads.table_bytes()
            + self.locks.table_bytes()
            + self.noted.capacity() * size_of::<Noted>()
            + self.atomics.len() * size_of::<(Slot, Vec<Atomic>)>()
            + self.sections.state_bytes()
    }
}

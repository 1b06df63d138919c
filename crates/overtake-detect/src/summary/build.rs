//! Building the summary, event by event.

use overtake_clock::{Epoch, SnapshotId, Stamp, Time, VectorClock};
use overtake_trace::{IdVec, LockId, Sizes, SyncId, ThreadId, VarId};

use super::{Event, Position, Section, Summary, What};
use crate::access::{AccessKind, At};
use crate::detector::LockMode;

/// Builds a [`Summary`].
#[derive(Default, Debug)]
pub(crate) struct Builder {
    summary: Summary,
    threads: IdVec<ThreadId, ThreadState>,
    last_writes: IdVec<VarId, Stamp>,
    posts: IdVec<SyncId, VectorClock>,
}

#[derive(Default, Debug)]
struct ThreadState {
    /// How many events it has done.
    count: Time,
    /// What it needs of other threads.
    learned: VectorClock,
    snapshot: SnapshotId,
    snapshot_is_current: bool,
    open: Vec<u32>,
}

impl Builder {
    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        self.threads.grow_to(sizes.threads);
        self.summary.sections.grow_to(sizes.threads);
        self.summary.by_lock.grow_to(sizes.locks);
        self.last_writes.grow_to(sizes.variables);
        self.posts.grow_to(sizes.objects);
        self.summary.variables = sizes.variables;
        self.summary.objects = sizes.objects;
    }

    /// The whole trace.
    pub(crate) fn finish(self) -> Summary {
        self.summary
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.summary.state_bytes() + self.last_writes.table_bytes() + self.threads.table_bytes()
    }

    fn snapshot(&mut self, thread: ThreadId) -> SnapshotId {
        let state = &mut self.threads[thread];
        if !state.snapshot_is_current {
            state.snapshot = self.summary.snapshots.insert(state.learned.times());
            state.snapshot_is_current = true;
        }
        state.snapshot
    }

    fn push(&mut self, at: At, what: What) -> Position {
        self.threads[at.thread].count += 1;
        self.push_part(at, what)
    }

    /// A part of the event that its thread is at.
    fn push_part(&mut self, at: At, what: What) -> Position {
        let before = self.snapshot(at.thread);
        let rank = self.threads[at.thread].count;
        let event = Event { index: at.index, thread: at.thread, location: at.location, rank, before, what };
        self.summary.events.push(event);
        self.summary.events.len() as Position - 1
    }

    /// The clock of all that a thread did.
    fn stamp(&mut self, thread: ThreadId) -> Stamp {
        let snapshot = self.snapshot(thread);
        Stamp { snapshot, epoch: Epoch { thread: thread.0, time: self.threads[thread].count } }
    }

    fn learn(&mut self, thread: ThreadId, stamp: Stamp) {
        let state = &mut self.threads[thread];
        if stamp.epoch.thread == thread.0 || state.learned.covers(stamp.epoch) {
            return;
        }
        self.summary.snapshots.join_into(&mut state.learned, stamp);
        state.snapshot_is_current = false;
    }

    /// An access, and the heap block that it reads as well, as far as they matter.
    pub(crate) fn access(&mut self, at: At, access: Option<(VarId, AccessKind)>, block: Option<VarId>) {
        match (access, block) {
            (Some((var, kind)), block) => {
                self.push(at, What::Access(var, kind));
                if let Some(block) = block {
                    self.push_part(at, What::Block(block));
                }
            }
            (None, Some(block)) => {
                self.push(at, What::Access(block, AccessKind::Read));
            }
            (None, None) => return,
        }
        let read = access.filter(|(_, kind)| kind.reads()).map(|(var, _)| var);
        for var in [read, block].into_iter().flatten() {
            let seen = self.last_writes[var];
            if seen.epoch.is_some() {
                self.learn(at.thread, seen);
            }
        }
        if let Some((var, _)) = access.filter(|(_, kind)| kind.writes()) {
            self.last_writes[var] = self.stamp(at.thread);
        }
    }

    pub(crate) fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        let place = self.summary.sections[at.thread].len() as u32;
        let acquire = self.push(at, What::Acquire(place));
        let state = &mut self.threads[at.thread];
        let outer = state.open.last().copied();
        state.open.push(place);
        let section =
            Section { lock, mode, acquire, acquired: state.count, release: 0, released: Time::MAX, outer };
        self.summary.sections[at.thread].push(section);
        let users = &mut self.summary.by_lock[lock];
        match users.iter_mut().find(|(thread, _)| *thread == at.thread) {
            Some((_, places)) => places.push(place),
            None => users.push((at.thread, vec![place])),
        }
    }

    pub(crate) fn release(&mut self, at: At, lock: LockId) {
        let sections = &self.summary.sections[at.thread];
        let open = &mut self.threads[at.thread].open;
        let Some(last) = open.iter().rposition(|&place| sections[place as usize].lock == lock) else {
            return;
        };
        let place = open.remove(last);
        let release = self.push(at, What::Release(place));
        let section = &mut self.summary.sections[at.thread][place as usize];
        (section.release, section.released) = (release, self.threads[at.thread].count);
    }

    pub(crate) fn fork(&mut self, at: At, child: ThreadId) {
        self.push(at, What::Fork(child));
        let stamp = self.stamp(at.thread);
        self.learn(child, stamp);
    }

    pub(crate) fn join(&mut self, at: At, child: ThreadId) {
        self.push(at, What::Join(child));
        let stamp = self.stamp(child);
        self.learn_all(at.thread, stamp);
    }

    pub(crate) fn post(&mut self, at: At, object: SyncId) {
        self.push(at, What::Post(object));
        let stamp = self.stamp(at.thread);
        self.summary.snapshots.join_into(&mut self.posts[object], stamp);
    }

    pub(crate) fn wait(&mut self, at: At, object: SyncId) {
        self.push(at, What::Wait(object));
        let state = &mut self.threads[at.thread];
        if state.learned.join(self.posts[object].times()) {
            state.snapshot_is_current = false;
        }
    }

    /// An event that orders nothing.
    pub(crate) fn other(&mut self, at: At) {
        self.push(at, What::Other);
    }

    /// As `learn`, for a thread that may have done nothing: its fork is needed nevertheless.
    fn learn_all(&mut self, thread: ThreadId, stamp: Stamp) {
        let state = &mut self.threads[thread];
        let grew = self.summary.snapshots.join_into(&mut state.learned, stamp);
        state.snapshot_is_current &= !grew;
    }
}

//! What threads know, as vector clocks: the store behind all happens-before detectors that keep a whole trace.
//!
//! Only [`overtake_rules::flow`] says what each operation orders. This file says how knowledge is kept while the rules move it from thread to
//! thread ([`Flows`]).
//!
//! **State.** Per thread a clock `C_t`. For each [`Carrier`] what it holds:
//!
//! | carrier | kept as |
//! | --- | --- |
//! | `Lock` | `L.exclusive`, one publication: an exclusive release replaces what was there (I2) |
//! | `SharedLock` | `L.shared`, an [`Edge`] |
//! | `Object` | `O`, an [`Edge`] |
//! | `Sequence` | `M_x`, an [`Edge`]: what a load that reads the latest atomic write acquires |
//! | `ReleaseFence` | an [`Edge`] |
//! | `AcquireFence` | a clock of its own: many loads may add to it before a fence takes it |
//!
//! | flow | effect |
//! | --- | --- |
//! | `t` publishes to a carrier `K` | `K ⊔= C_t`, tick |
//! | `t` replaces what `K` holds | `K := C_t`, tick |
//! | `t` receives from `K` | `C_t ⊔= K` |
//! | start of `u` by `t` | `C_u ⊔= C_t`, tick |
//! | end of `u` for `t` | `C_t ⊔= C_u`, tick `u`: what `u` does afterwards is new |
//!
//! **Ticks.** If `LAZY`, no operation ticks. A thread's time advances instead when it learns something after a publication,
//! and at [`open_epoch`](SyncClocks::open_epoch), which must be called before an access is recorded. While no access is
//! recorded, nothing changes once all threads know everything, and all joins are skipped: this is for sampling.
//! **Invariants.**
//!   I1  Only thread `t` advances component `t`. All publications of one epoch know the same (`ThreadClock`, I3). So whoever
//!       knows the epoch of a publication knows all of it, and [`ThreadClock::join`] skips what is known already.
//!   I2  An exclusive release may replace what the lock held: its holder joined all of it when it acquired the lock.
//!   I3  Whoever keeps a stamp or a snapshot owns one reference to the snapshot.
//! **Cost.** O(1) for what is known already, O(threads) for a join that teaches something and for the first publication
//! after it. Snapshots are shared, so a lock, an object and an atomic variable hold a few words each.

use std::ops::Range;

use overtake_clock::{SnapshotId, Snapshots, Stamp, ThreadClock, Time, VectorClock};
use overtake_rules::{Flows, flow};
use overtake_trace::{Id, IdVec, LockId, MemoryOrder, Pages, Sizes, SyncId, ThreadId, TraceIds, VarId};

use super::Carrier;
use crate::access::AccessKind;
use crate::detector::LockMode;

/// The clocks of a trace's threads, and what its locks, objects and atomic variables hand from thread to thread.
#[derive(Default, Debug)]
pub(crate) struct SyncClocks<const LAZY: bool = false> {
    threads: IdVec<ThreadId, ThreadClock>,
    locks: IdVec<LockId, LockEdges>,
    objects: IdVec<SyncId, Edge>,
    /// `M_x`, of variables that are accessed atomically.
    sequences: Pages<VarId, Edge>,
    /// Up to the highest thread that used a fence or a relaxed atomic.
    fences: IdVec<ThreadId, FenceState>,
    snapshots: Snapshots,
    /// Room to join clocks in.
    scratch: VectorClock,
    /// Bytes that the clocks of threads and fences own on the heap.
    clock_bytes: usize,
}

/// What a join with something has to teach.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Edge {
    #[default]
    Nothing,
    /// One publication.
    One(Stamp),
    /// Several publications joined, none of which knows the others.
    Many(SnapshotId),
}

#[derive(Clone, Copy, Default, Debug)]
struct LockEdges {
    exclusive: Stamp,
    shared: Edge,
}

#[derive(Default, Debug)]
struct FenceState {
    /// What the latest release fence released.
    released: Edge,
    /// What loads saw without acquiring it.
    seen: VectorClock,
}

impl<const LAZY: bool> SyncClocks<LAZY> {
    /// Makes the tables reach `sizes`.
    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        while self.threads.len() < sizes.threads {
            self.threads.push(ThreadClock::new(self.threads.len() as u32));
        }
        self.locks.grow_to(sizes.locks);
        self.objects.grow_to(sizes.objects);
    }

    /// How many threads have a clock.
    pub(crate) fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// The clock of a thread.
    #[inline]
    pub(crate) fn thread(&self, thread: ThreadId) -> &ThreadClock {
        &self.threads[thread]
    }

    /// A lock is taken.
    #[inline]
    pub(crate) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        flow::acquire(self, thread, lock, mode);
    }

    /// A lock is given back.
    #[inline]
    pub(crate) fn release(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        flow::release(self, thread, lock, mode);
    }

    /// A thread is started.
    pub(crate) fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        flow::fork(self, thread, child);
    }

    /// The end of a thread is waited for.
    pub(crate) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        flow::join(self, thread, child);
    }

    /// An object is signalled.
    pub(crate) fn post(&mut self, thread: ThreadId, object: SyncId) {
        flow::post(self, thread, object);
    }

    /// An object is waited for.
    pub(crate) fn wait(&mut self, thread: ThreadId, object: SyncId) {
        flow::wait(self, thread, object);
    }

    /// The first half of an atomic access: what it acquires from the write it reads.
    pub(crate) fn atomic_acquire(
        &mut self,
        thread: ThreadId,
        var: VarId,
        kind: AccessKind,
        order: MemoryOrder,
    ) {
        flow::atomic_read(self, thread, var, kind, order);
    }

    /// Whether [`atomic_acquire`](Self::atomic_acquire) would teach the thread anything.
    pub(crate) fn would_acquire(
        &self,
        thread: ThreadId,
        var: VarId,
        kind: AccessKind,
        order: MemoryOrder,
    ) -> bool {
        let clock = &self.threads[thread];
        flow::acquires(kind, order)
            && match self.sequence(var) {
                Edge::Nothing => false,
                Edge::One(stamp) => !clock.covers(stamp.epoch),
                Edge::Many(joined) => !clock.learned().covers_all(self.snapshots.times(joined)),
            }
    }

    /// The second half of an atomic access: what it releases to those who read it.
    pub(crate) fn atomic_release(
        &mut self,
        thread: ThreadId,
        var: VarId,
        kind: AccessKind,
        order: MemoryOrder,
    ) {
        flow::atomic_write(self, thread, var, kind, order);
    }

    /// A memory fence.
    pub(crate) fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        flow::fence(self, thread, order);
    }

    /// Puts the clock of `thread` where others can learn it, as a release does; ticks unless `LAZY`. The place owns a
    /// reference.
    #[inline]
    pub(crate) fn publish_to(&mut self, thread: ThreadId, place: &mut Stamp) {
        publish_to::<LAZY>(&mut self.threads[thread], place, &mut self.snapshots);
    }

    /// The clock of `thread` as a publication, of which the caller owns a reference.
    #[inline]
    fn stamp(&mut self, thread: ThreadId) -> Stamp {
        publish::<LAZY>(&mut self.threads[thread], &mut self.snapshots)
    }

    /// Makes sure that nobody knows the time of `thread` yet: an access recorded now is not covered by what was
    /// published before it.
    #[inline]
    pub(crate) fn open_epoch(&mut self, thread: ThreadId) {
        self.threads[thread].open_epoch();
    }

    /// Joins a published stamp into the clock of `thread`.
    #[inline]
    pub(crate) fn learn(&mut self, thread: ThreadId, stamp: Stamp) {
        let clock = &mut self.threads[thread];
        let before = clock.heap_bytes();
        if clock.join(&self.snapshots, stamp) {
            self.clock_bytes += clock.heap_bytes() - before;
        }
    }

    /// Replaces the contents of `times` by the own time of each thread.
    pub(crate) fn times(&self, times: &mut Vec<Time>) {
        times.clear();
        times.extend(self.threads.iter().map(|clock| clock.epoch().time));
    }

    /// `thread` goes on after everything up to `barrier`, and its own time is one that nobody knows.
    pub(crate) fn pass_barrier(&mut self, thread: ThreadId, barrier: &[Time]) {
        let clock = &mut self.threads[thread];
        let before = clock.heap_bytes();
        clock.join_times(barrier);
        self.clock_bytes += clock.heap_bytes() - before;
        clock.tick();
    }

    /// No further event names these variables.
    pub(crate) fn end_variables(&mut self, ended: &Range<VarId>) {
        for var in ended.start.0..ended.end.0 {
            Flows::forget(self, Carrier::Sequence(VarId(var)));
        }
        self.sequences.end(ended.start.index()..ended.end.index());
    }

    /// Bytes of all clocks and tables.
    pub(crate) fn state_bytes(&self) -> usize {
        let tables = self.threads.table_bytes()
            + self.locks.table_bytes()
            + self.objects.table_bytes()
            + self.sequences.table_bytes()
            + self.fences.table_bytes();
        tables + self.clock_bytes + self.snapshots.heap_bytes() + self.scratch.heap_bytes()
    }

    fn sequence(&self, var: VarId) -> Edge {
        self.sequences[var]
    }

    /// What the latest release fence of `thread` released: one publication, or nothing.
    fn released(&self, thread: ThreadId) -> Edge {
        self.fences.get(thread).map_or(Edge::Nothing, |fence| fence.released)
    }

    /// `carrier` holds a publication besides what it held, and takes over its reference.
    #[inline(always)]
    fn add(&mut self, stamp: Stamp, carrier: Carrier) {
        let edge = match carrier {
            Carrier::Lock(lock) => {
                let before = std::mem::replace(&mut self.locks[lock].exclusive, stamp); // I2
                return self.snapshots.release(before.snapshot);
            }
            Carrier::SharedLock(lock) => &mut self.locks[lock].shared,
            Carrier::Object(object) => &mut self.objects[object],
            Carrier::Sequence(var) => &mut self.sequences[var],
            Carrier::ReleaseFence(thread) => &mut self.fences.entry(thread).released,
            Carrier::AcquireFence(thread) => {
                self.keep(thread, Edge::One(stamp));
                return self.snapshots.release(stamp.snapshot);
            }
        };
        edge.add(stamp, &mut self.snapshots, &mut self.scratch);
    }

    /// Keeps what an edge teaches for the next acquire fence of `thread`.
    fn keep(&mut self, thread: ThreadId, edge: Edge) {
        let seen = &mut self.fences.entry(thread).seen;
        let before = seen.heap_bytes();
        edge.join_into(seen, &self.snapshots);
        self.clock_bytes += seen.heap_bytes() - before;
    }

    /// `C_t ⊔=` what was kept for acquire fences of `kept_for`.
    fn learn_kept(&mut self, thread: ThreadId, kept_for: ThreadId) {
        let Some(fence) = self.fences.get_mut(kept_for) else { return };
        let clock = &mut self.threads[thread];
        let before = clock.heap_bytes();
        clock.join_times(fence.seen.times());
        self.clock_bytes += clock.heap_bytes() - before;
        fence.seen.clear();
    }

    /// `C_t ⊔= edge`.
    fn follow(&mut self, thread: ThreadId, edge: Edge) {
        match edge {
            Edge::Nothing => {}
            Edge::One(stamp) => self.learn(thread, stamp),
            Edge::Many(joined) => {
                let clock = &mut self.threads[thread];
                let before = clock.heap_bytes();
                clock.join_times(self.snapshots.times(joined));
                self.clock_bytes += clock.heap_bytes() - before;
            }
        }
    }
}

/// Every method is inlined where a rule calls it: there the kind of carrier is known, and the code for other kinds falls away.
impl<const LAZY: bool> Flows for SyncClocks<LAZY> {
    type Ids = TraceIds;

    #[inline(always)]
    fn publish(&mut self, from: ThreadId, to: Carrier) {
        let stamp = self.stamp(from);
        self.add(stamp, to);
    }

    #[inline(always)]
    fn replace(&mut self, from: ThreadId, to: Carrier) {
        if let Carrier::Lock(lock) = to {
            // The most frequent case: the publication goes straight to its place.
            let (clock, place) = (&mut self.threads[from], &mut self.locks[lock].exclusive);
            return match LAZY {
                true => clock.publish_lazily_to(place, &mut self.snapshots),
                false => clock.publish_often_to(place, &mut self.snapshots),
            };
        }
        let stamp = self.stamp(from);
        self.forget(to);
        self.add(stamp, to);
    }

    #[inline(always)]
    fn receive(&mut self, to: ThreadId, from: Carrier) {
        let edge = match from {
            Carrier::Lock(lock) => return self.learn(to, self.locks[lock].exclusive),
            Carrier::SharedLock(lock) => self.locks[lock].shared,
            Carrier::Object(object) => self.objects[object],
            Carrier::Sequence(var) => self.sequence(var),
            Carrier::ReleaseFence(thread) => self.released(thread),
            Carrier::AcquireFence(thread) => return self.learn_kept(to, thread),
        };
        if edge != Edge::Nothing {
            self.follow(to, edge);
        }
    }

    #[inline(always)]
    fn keep_for_fence(&mut self, thread: ThreadId, var: VarId) {
        let edge = self.sequence(var);
        if edge != Edge::Nothing {
            self.keep(thread, edge);
        }
    }

    #[inline(always)]
    fn release_by_fence(&mut self, thread: ThreadId, var: VarId) {
        if let Edge::One(stamp) = self.released(thread) {
            self.snapshots.retain(stamp.snapshot);
            self.add(stamp, Carrier::Sequence(var));
        }
    }

    #[inline(always)]
    fn forget(&mut self, carrier: Carrier) {
        let edge = match carrier {
            Carrier::Lock(lock) => {
                let before = std::mem::take(&mut self.locks[lock].exclusive);
                return self.snapshots.release(before.snapshot);
            }
            Carrier::SharedLock(lock) => Some(&mut self.locks[lock].shared),
            Carrier::Object(object) => Some(&mut self.objects[object]),
            Carrier::Sequence(var) => self.sequences.get_mut(var),
            Carrier::ReleaseFence(thread) => self.fences.get_mut(thread).map(|fence| &mut fence.released),
            Carrier::AcquireFence(thread) => {
                return self.fences.get_mut(thread).map_or((), |fence| fence.seen.clear());
            }
        };
        if let Some(edge) = edge
            && *edge != Edge::Nothing
        {
            std::mem::take(edge).give_back(&mut self.snapshots);
        }
    }

    fn start(&mut self, parent: ThreadId, child: ThreadId) {
        let stamp = self.stamp(parent);
        self.learn(child, stamp);
        self.snapshots.release(stamp.snapshot);
    }

    fn end(&mut self, child: ThreadId, parent: ThreadId) {
        let (clock, child) = self.threads.pair_mut(parent, child);
        let before = clock.heap_bytes();
        match LAZY {
            true => clock.join_thread_lazily(child),
            false => clock.join_thread(child),
        }
        self.clock_bytes += clock.heap_bytes() - before;
    }
}

#[inline]
fn publish<const LAZY: bool>(clock: &mut ThreadClock, snapshots: &mut Snapshots) -> Stamp {
    match LAZY {
        true => clock.publish_lazily(snapshots),
        false => clock.publish(snapshots),
    }
}

#[inline]
fn publish_to<const LAZY: bool>(clock: &mut ThreadClock, place: &mut Stamp, snapshots: &mut Snapshots) {
    match LAZY {
        true => clock.publish_lazily_to(place, snapshots),
        false => clock.publish_to(place, snapshots),
    }
}

impl Edge {
    /// Joins a publication to the edge, which takes over its reference.
    fn add(&mut self, stamp: Stamp, snapshots: &mut Snapshots, scratch: &mut VectorClock) {
        let known = match *self {
            Edge::Nothing => true,
            // I1: whoever knows the epoch knows the stamp.
            Edge::One(before) => snapshots.time_in(stamp, before.epoch.thread) >= before.epoch.time,
            Edge::Many(_) => false,
        };
        if known {
            std::mem::replace(self, Edge::One(stamp)).give_back(snapshots);
            return;
        }
        scratch.clear();
        snapshots.join_into(scratch, stamp);
        self.join_into(scratch, snapshots);
        let joined = snapshots.insert(scratch.times());
        std::mem::replace(self, Edge::Many(joined)).give_back(snapshots);
        snapshots.release(stamp.snapshot);
    }

    fn join_into(self, clock: &mut VectorClock, snapshots: &Snapshots) {
        match self {
            Edge::Nothing => {}
            Edge::One(stamp) => {
                if !clock.covers(stamp.epoch) {
                    snapshots.join_into(clock, stamp);
                }
            }
            Edge::Many(joined) => {
                clock.join(snapshots.times(joined));
            }
        }
    }

    fn give_back(self, snapshots: &mut Snapshots) {
        match self {
            Edge::Nothing => {}
            Edge::One(stamp) => snapshots.release(stamp.snapshot),
            Edge::Many(joined) => snapshots.release(joined),
        }
    }
}

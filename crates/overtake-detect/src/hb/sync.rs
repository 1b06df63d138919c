//! What every synchronisation operation orders, as vector clocks. The one implementation that all happens-before
//! detectors share.
//!
//! **State.** Per thread a clock `C_t`. Per lock what its exclusive and its shared releases publish. Per object what was
//! posted. Per atomic variable `M_x`: what a load that reads the latest atomic write acquires. Per thread what its
//! latest release fence released and what its loads saw that an acquire fence would acquire.
//!
//! | operation of `t` | effect |
//! | --- | --- |
//! | exclusive acquire | `C_t ⊔= L.exclusive ⊔ L.shared` |
//! | exclusive release | `L.exclusive := C_t`, `L.shared := ⊥`, tick |
//! | shared acquire | `C_t ⊔= L.exclusive` |
//! | shared release | `L.shared ⊔= C_t`, tick |
//! | fork `u` | `C_u ⊔= C_t`, tick |
//! | join `u` | `C_t ⊔= C_u`, tick `u`: what `u` does afterwards is new |
//! | post | `O ⊔= C_t`, tick |
//! | wait | `C_t ⊔= O` |
//! | load, rmw | `C_t ⊔= M_x` if its order acquires, else `t` keeps `M_x` for its next acquire fence |
//! | store | `M_x := released`: `C_t` and a tick if its order releases, else what `t`'s latest release fence released |
//! | rmw, volatile store | `M_x ⊔= released`: the release sequences that `M_x` stands for go on |
//! | acquire fence | `C_t ⊔=` everything kept by loads |
//! | release fence | remembers `C_t`, tick |
//!
//! **Ticks.** If `LAZY`, no operation ticks. A thread's time advances instead when it learns something after a publication,
//! and at [`open_epoch`](SyncClocks::open_epoch), which whoever records an access calls first. While no access is
//! recorded, nothing changes once everybody knows everything, and all joins are skipped: this is for sampling.
//! **Invariants.**
//!   I1  Only thread `t` advances component `t`. All publications of one epoch know the same (`ThreadClock`, I3). So whoever
//!       knows the epoch of a publication knows all of it, and [`ThreadClock::join`] skips what is known already.
//!   I2  An exclusive release may replace what the lock held: its holder joined all of it when it acquired the lock.
//!   I3  Whoever keeps a stamp or a snapshot owns one reference to the snapshot.
//! **Cost.** O(1) for what is known already, O(threads) for a join that teaches something and for the first publication
//! after it. Snapshots are shared, so a lock, an object and an atomic variable hold a few words each.

use overtake_clock::{SnapshotId, Snapshots, Stamp, ThreadClock, Time, VectorClock};
use overtake_trace::{Id, IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use crate::access::AccessKind;
use crate::detector::LockMode;

/// The clocks of a trace's threads, and what its locks, objects and atomic variables hand from thread to thread.
#[derive(Default, Debug)]
pub(crate) struct SyncClocks<const LAZY: bool = false> {
    threads: IdVec<ThreadId, ThreadClock>,
    locks: IdVec<LockId, LockEdges>,
    objects: IdVec<SyncId, Edge>,
    /// `M_x`, up to the highest variable that was accessed atomically.
    sequences: IdVec<VarId, Edge>,
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
    released: Option<Stamp>,
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

    /// The clock of a thread.
    #[inline]
    pub(crate) fn thread(&self, thread: ThreadId) -> &ThreadClock {
        &self.threads[thread]
    }

    /// A lock is taken.
    #[inline]
    pub(crate) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let LockEdges { exclusive, shared } = self.locks[lock];
        self.learn(thread, exclusive);
        if mode == LockMode::Exclusive && shared != Edge::Nothing {
            self.follow(thread, shared);
        }
    }

    /// A lock is given back.
    #[inline]
    pub(crate) fn release(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let edges = &mut self.locks[lock];
        let clock = &mut self.threads[thread];
        match mode {
            LockMode::Exclusive => {
                match LAZY {
                    true => clock.publish_lazily_to(&mut edges.exclusive, &mut self.snapshots), // I2
                    false => clock.publish_often_to(&mut edges.exclusive, &mut self.snapshots), // I2
                }
                if edges.shared != Edge::Nothing {
                    std::mem::take(&mut edges.shared).give_back(&mut self.snapshots);
                }
            }
            LockMode::Shared => {
                let stamp = publish::<LAZY>(clock, &mut self.snapshots);
                edges.shared.add(stamp, &mut self.snapshots, &mut self.scratch);
            }
        }
    }

    /// Everything so far in `thread` comes before the next event of `child`.
    pub(crate) fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        let stamp = self.publish(thread);
        self.learn(child, stamp);
        self.snapshots.release(stamp.snapshot);
    }

    /// Everything so far in `child` comes before the next event of `thread`.
    pub(crate) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        let (clock, child) = self.threads.pair_mut(thread, child);
        let before = clock.heap_bytes();
        match LAZY {
            true => clock.join_thread_lazily(child),
            false => clock.join_thread(child),
        }
        self.clock_bytes += clock.heap_bytes() - before;
    }

    /// An object is signalled.
    pub(crate) fn post(&mut self, thread: ThreadId, object: SyncId) {
        let stamp = self.publish(thread);
        self.objects[object].add(stamp, &mut self.snapshots, &mut self.scratch);
    }

    /// Every earlier post of `object` comes before the next event of `thread`.
    pub(crate) fn wait(&mut self, thread: ThreadId, object: SyncId) {
        self.follow(thread, self.objects[object]);
    }

    /// The first half of an atomic access: what it acquires from the write it reads.
    pub(crate) fn atomic_acquire(
        &mut self,
        thread: ThreadId,
        var: VarId,
        kind: AccessKind,
        order: MemoryOrder,
    ) {
        if !kind.reads() {
            return;
        }
        let edge = self.sequence(var);
        if order.acquires() {
            self.follow(thread, edge);
        } else if edge != Edge::Nothing {
            self.fences.grow_to(thread.index() + 1);
            let seen = &mut self.fences[thread].seen;
            let before = seen.heap_bytes();
            edge.join_into(seen, &self.snapshots);
            self.clock_bytes += seen.heap_bytes() - before;
        }
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
        kind.reads()
            && order.acquires()
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
        if !kind.writes() {
            return;
        }
        let released = if order.releases() { Some(self.publish(thread)) } else { self.fence_release(thread) };
        self.sequences.grow_to(var.index() + 1);
        let sequence = &mut self.sequences[var];
        // An acquiring rmw knows M_x already, so what it releases takes the place of M_x.
        let goes_on = kind == AccessKind::Rmw || order == MemoryOrder::Volatile;
        let known = kind == AccessKind::Rmw && order.acquires() && order.releases();
        if !goes_on || known {
            std::mem::take(sequence).give_back(&mut self.snapshots);
        }
        if let Some(stamp) = released {
            sequence.add(stamp, &mut self.snapshots, &mut self.scratch);
        }
    }

    /// A memory fence.
    pub(crate) fn fence(&mut self, thread: ThreadId, order: MemoryOrder) {
        self.fences.grow_to(thread.index() + 1);
        if order.acquires() {
            let (clock, seen) = (&mut self.threads[thread], &mut self.fences[thread].seen);
            let before = clock.heap_bytes();
            clock.join_times(seen.times());
            self.clock_bytes += clock.heap_bytes() - before;
            seen.clear();
        }
        if order.releases() {
            let stamp = self.publish(thread);
            if let Some(before) = self.fences[thread].released.replace(stamp) {
                self.snapshots.release(before.snapshot);
            }
        }
    }

    /// Puts the clock of `thread` where others can learn it, as a release does; ticks unless `LAZY`. The place owns a
    /// reference.
    #[inline]
    pub(crate) fn publish_to(&mut self, thread: ThreadId, place: &mut Stamp) {
        publish_to::<LAZY>(&mut self.threads[thread], place, &mut self.snapshots);
    }

    fn publish(&mut self, thread: ThreadId) -> Stamp {
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
        self.sequences.get(var).copied().unwrap_or_default()
    }

    /// What the latest release fence of `thread` released, with a reference for the caller.
    fn fence_release(&mut self, thread: ThreadId) -> Option<Stamp> {
        let stamp = self.fences.get(thread)?.released?;
        self.snapshots.retain(stamp.snapshot);
        Some(stamp)
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

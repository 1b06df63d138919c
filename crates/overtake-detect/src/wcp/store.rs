//! Clocks that were handed out, and the clocks that grow by them.
//!
//! The clocks of a trace with ten thousand threads that come and go differ in a few hundred components. So a clock is stored without
//! the components of a range of threads that are *settled*: they hand out nothing any more, and all others know what they handed out.

use std::ops::Range;

use overtake_clock::{Epoch, SnapshotId, Snapshots, Stamp, Time, VectorClock};

/// Clocks that were handed out. Whoever keeps one owns a reference to it.
#[derive(Default, Debug)]
pub(super) struct Store {
    snapshots: Snapshots,
    /// Threads that are settled.
    pub(super) settled: Range<usize>,
    /// Room to put a clock together: its components after the settled ones, those before, their number, and one more than the end of
    /// the settled ones.
    room: Vec<Time>,
}

impl Store {
    /// Stores what a clock knows of threads that are not settled. The caller owns the one reference.
    #[inline]
    fn insert(&mut self, clock: &VectorClock) -> SnapshotId {
        if clock.times().is_empty() {
            return SnapshotId::EMPTY;
        }
        let times = clock.times();
        let Range { start, end } = self.settled.clone();
        self.room.clear();
        self.room.extend_from_slice(times.get(end..).unwrap_or_default());
        self.room.extend_from_slice(&times[..start.min(times.len())]);
        self.room.extend([start.min(times.len()) as Time, end as Time + 1]);
        self.snapshots.insert(&self.room)
    }

    #[inline]
    fn join_into(&self, clock: &mut VectorClock, id: SnapshotId) -> bool {
        let [times @ .., first, end] = self.snapshots.times(id) else { return false };
        let (later, earlier) = times.split_at(times.len() - *first as usize);
        let mut grew = clock.join_from(*end as usize - 1, later);
        for (thread, &time) in (0..).zip(earlier) {
            grew |= clock.raise(Epoch { thread, time });
        }
        grew
    }

    /// Makes one more reference.
    #[inline]
    pub(super) fn retain(&mut self, id: SnapshotId) {
        self.snapshots.retain(id);
    }

    /// Gives a reference back.
    #[inline]
    pub(super) fn release(&mut self, id: SnapshotId) {
        self.snapshots.release(id);
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.snapshots.heap_bytes()
    }
}

/// A clock that grows, with its latest copy in the store.
#[derive(Default, Debug)]
pub(super) struct Growing {
    pub(super) clock: VectorClock,
    copy: SnapshotId,
    /// It has not grown since the copy was made.
    is_copied: bool,
}

impl Growing {
    #[inline]
    pub(super) fn covers(&self, epoch: Epoch) -> bool {
        self.clock.covers(epoch)
    }

    /// Learns what was handed out, unless it knows the time at which that was: then it knows all of it.
    #[inline]
    pub(super) fn learn(&mut self, store: &Store, stamp: Stamp) {
        if !self.covers(stamp.epoch) {
            self.join(store, stamp.snapshot);
            self.clock.raise(stamp.epoch);
            self.is_copied = false;
        }
    }

    /// Learns what a clock of the store knows.
    #[inline]
    pub(super) fn join(&mut self, store: &Store, id: SnapshotId) {
        if !(self.is_copied && self.copy == id) && store.join_into(&mut self.clock, id) {
            self.is_copied = false;
        }
    }

    /// Learns what another clock knows, settled threads included.
    pub(super) fn join_all(&mut self, other: &VectorClock) {
        if self.clock.join(other.times()) {
            self.is_copied = false;
        }
    }

    /// Learns of a time.
    pub(super) fn raise(&mut self, epoch: Epoch) {
        self.clock.raise(epoch);
        self.is_copied = false;
    }

    /// The clock as it is now, in the store. The caller owns a reference.
    #[inline]
    pub(super) fn copy(&mut self, store: &mut Store) -> SnapshotId {
        if !self.is_copied {
            store.release(self.copy);
            self.copy = store.insert(&self.clock);
            self.is_copied = true;
        }
        store.retain(self.copy);
        self.copy
    }

    /// Forgets everything.
    pub(super) fn forget(&mut self, store: &mut Store) {
        store.release(self.copy);
        *self = Growing::default();
    }
}

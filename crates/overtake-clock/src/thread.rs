//! The clock of a running thread.

use crate::epoch::{Epoch, Time};
use crate::snapshot::{SnapshotId, Snapshots, Stamp};
use crate::vector::VectorClock;

/// Clocks of up to this many components are copied rather than shared by [`ThreadClock::publish_often_to`].
const SHORT: usize = 32;

/// Clocks of more than this many components may be left out by [`ThreadClock::publish_sparingly_to`].
const LONG: usize = 64;

/// What a thread knows: its own time, and what it learned from others.
///
/// **Invariants.**
///   I1  Only the thread itself advances its own time; everything else changes by joins alone.
///   I2  While `unchanged`, `snapshot` holds exactly the components of `learned`; the clock owns one reference to it.
///   I3  All stamps that were handed out with one epoch know the same. So a clock that covers the epoch of a published stamp
///       covers the whole stamp, and the join can be skipped. [`publish`](Self::publish) ensures this by advancing the time.
///       [`publish_lazily`](Self::publish_lazily) leaves the time as it is and marks it `published`; the time then advances when
///       the thread learns something, or does something that others must learn of ([`open_epoch`](Self::open_epoch)).
#[derive(Debug)]
pub struct ThreadClock {
    own: Epoch,
    snapshot: SnapshotId,
    unchanged: bool,
    /// The own time was handed out and has not advanced since.
    published: bool,
    /// The own component in here, if any, is out of date; `own` is the truth.
    learned: VectorClock,
}

impl ThreadClock {
    /// The clock of a thread that has done nothing and knows of no other thread; its time is 1.
    pub const fn new(thread: u32) -> ThreadClock {
        ThreadClock {
            own: Epoch { thread, time: 1 },
            snapshot: SnapshotId::EMPTY,
            unchanged: true,
            published: false,
            learned: VectorClock::new(),
        }
    }

    /// The thread and its time.
    #[inline]
    pub fn epoch(&self) -> Epoch {
        self.own
    }

    /// The time of `thread`.
    #[inline]
    pub fn get(&self, thread: u32) -> Time {
        if thread == self.own.thread { self.own.time } else { self.learned.get(thread) }
    }

    /// Whether the thread knows `epoch`, or it is an epoch of the thread itself.
    #[inline]
    pub fn covers(&self, epoch: Epoch) -> bool {
        // `|` instead of `||`: both sides are cheap, and a branch on the first would be mispredicted.
        self.learned.covers(epoch) | (epoch.thread == self.own.thread)
    }

    /// What was learned from others, by thread. The own component is out of date.
    #[inline]
    pub fn learned(&self) -> &VectorClock {
        &self.learned
    }

    /// Advances the own time. It never reaches [`Time::MAX`], which is free for other uses.
    #[inline]
    pub fn tick(&mut self) {
        self.own.time = (self.own.time + 1).min(Time::MAX - 1);
        self.published = false;
    }

    /// Makes sure that no other clock knows the own time yet, so that what the thread does next is new to all others.
    #[inline]
    pub fn open_epoch(&mut self) {
        if self.published {
            self.tick();
        }
    }

    /// The clock as it is now. Makes a snapshot only if something was learned since the last one; the caller owns a
    /// reference. The own time stays, so I3 does not hold for this stamp unless the caller ticks.
    #[inline]
    pub fn stamp(&mut self, snapshots: &mut Snapshots) -> Stamp {
        if !self.unchanged {
            snapshots.release(self.snapshot);
            self.snapshot = snapshots.insert(self.learned.times());
            self.unchanged = true;
        }
        snapshots.retain(self.snapshot);
        Stamp { snapshot: self.snapshot, epoch: self.own }
    }

    /// The clock as it is now, for others to join; advances the own time (I3). The caller owns a reference.
    #[inline]
    pub fn publish(&mut self, snapshots: &mut Snapshots) -> Stamp {
        let stamp = self.stamp(snapshots);
        self.tick();
        stamp
    }

    /// As [`publish`](Self::publish), into a place that holds an earlier publication, whose reference is given back.
    #[inline]
    pub fn publish_to(&mut self, place: &mut Stamp, snapshots: &mut Snapshots) {
        self.stamp_to(place, snapshots);
        self.tick();
    }

    /// As [`publish_to`](Self::publish_to), but where many long clocks are kept, nothing is handed out except the own time: whoever joins the stamp learns
    /// less than there is to know. So clocks in the store take little more than `most` bytes.
    #[inline]
    pub fn publish_sparingly_to(&mut self, place: &mut Stamp, snapshots: &mut Snapshots, most: usize) {
        let length = self.learned.times().len();
        if length > LONG && snapshots.live() * length * size_of::<Time>() > most {
            snapshots.release(place.snapshot);
            *place = Stamp { snapshot: SnapshotId::EMPTY, epoch: self.own };
        } else {
            self.stamp_to(place, snapshots);
        }
        self.tick();
    }

    /// As [`publish_to`](Self::publish_to), for a place that is published to again and again: a short clock is copied there,
    /// which is cheaper than sharing it but takes room of its own.
    #[inline]
    pub fn publish_often_to(&mut self, place: &mut Stamp, snapshots: &mut Snapshots) {
        if self.learned.times().len() <= SHORT {
            let snapshot = snapshots.replace(place.snapshot, self.learned.times());
            *place = Stamp { snapshot, epoch: self.own };
        } else {
            self.stamp_to(place, snapshots);
        }
        self.tick();
    }

    /// As [`publish_lazily`](Self::publish_lazily), into a place that holds an earlier publication, whose reference is
    /// given back.
    #[inline]
    pub fn publish_lazily_to(&mut self, place: &mut Stamp, snapshots: &mut Snapshots) {
        self.stamp_to(place, snapshots);
        self.published = true;
    }

    #[inline]
    fn stamp_to(&mut self, place: &mut Stamp, snapshots: &mut Snapshots) {
        if self.unchanged {
            if self.snapshot != place.snapshot {
                snapshots.retain(self.snapshot);
                snapshots.release(place.snapshot);
            }
        } else {
            let snapshot = snapshots.replace_by_two(place.snapshot, self.learned.times());
            snapshots.release(std::mem::replace(&mut self.snapshot, snapshot));
            self.unchanged = true;
        }
        *place = Stamp { snapshot: self.snapshot, epoch: self.own };
    }

    /// The clock as it is now, for others to join. The own time advances only when it must (I3). A thread that learns nothing and
    /// does nothing in between hands out the same stamp again and again, and clocks that know the stamp skip the join.
    /// The caller owns a reference.
    #[inline]
    pub fn publish_lazily(&mut self, snapshots: &mut Snapshots) -> Stamp {
        let stamp = self.stamp(snapshots);
        self.published = true;
        stamp
    }

    /// Learns what a published stamp knows. Returns whether anything was new.
    #[inline]
    pub fn join(&mut self, snapshots: &Snapshots, stamp: Stamp) -> bool {
        if self.covers(stamp.epoch) {
            return false; // I3
        }
        self.open_epoch(); // I3
        if !(self.unchanged && self.snapshot == stamp.snapshot) {
            self.learned.join(snapshots.times(stamp.snapshot));
        }
        self.learned.raise(stamp.epoch);
        self.unchanged = false;
        true
    }

    /// Learns what a clock knows that belongs to no thread, such as the join of several stamps.
    #[inline]
    pub fn join_times(&mut self, times: &[Time]) -> bool {
        let learned = self.learned.join(times);
        if learned {
            self.unchanged = false;
            self.open_epoch(); // I3
        }
        learned
    }

    /// Learns what another thread knows now, as after waiting for its end. The other's time is known from here on and
    /// advances (I3).
    pub fn join_thread(&mut self, other: &mut ThreadClock) {
        self.learned.join(other.learned.times());
        self.learned.raise(other.own);
        self.unchanged = false;
        other.tick();
    }

    /// As [`join_thread`](Self::join_thread), but the other's time advances only when it must.
    pub fn join_thread_lazily(&mut self, other: &mut ThreadClock) {
        other.published = true;
        if self.covers(other.own) {
            return; // I3
        }
        self.open_epoch(); // I3
        self.learned.join(other.learned.times());
        self.learned.raise(other.own);
        self.unchanged = false;
    }

    /// Forgets everything learned and gives the snapshot back; the own time stays.
    pub fn forget(&mut self, snapshots: &mut Snapshots) {
        snapshots.release(std::mem::take(&mut self.snapshot));
        self.learned.clear();
        self.unchanged = true;
    }

    /// Bytes on the heap, without the shared snapshot.
    #[inline]
    pub fn heap_bytes(&self) -> usize {
        self.learned.heap_bytes()
    }
}

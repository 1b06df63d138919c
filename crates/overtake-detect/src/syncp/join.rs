//! The union of two closed sets, made closed again.
//!
//! A thread that learns an epoch of another thread takes in that thread's past. Usually it follows the entries that are new to it (`closure.rs`). With
//! hundreds of threads that hear of each other, there are some in every thread; then it is quicker to take the other thread's closed set as a
//! whole, if all of it belongs to what was before the epoch, and to follow only what is newer. Pasts are not kept up to date (`clocks.rs`): so such sets are there.
//!
//! **Why it is closed.** Both sets are closed, so of two acquires of one lock inside one of them the earlier one has ended inside (I1 of `closure.rs`). Only
//! the latest acquires of the two sets can lack an end: of these the earlier one has to end inside, and what that takes is followed as usual.
//! **When.** The other thread's past must have taken in no entry behind the epoch. A past that was widened since by what all closed sets to come contain (`collect.rs`) does not count.
//! **Cost.** O(threads known + locks known), by the components of arrays, plus what has to end.

use overtake_clock::{Epoch, Time};
use overtake_trace::{Id, LockId};

use super::closure::{Ideal, Latest, LatestAcquires, LockTable};
use super::sections::Sections;

/// With fewer threads it is quicker to follow the entries that are new.
const FEWEST_THREADS: usize = if cfg!(test) { 2 } else { 64 };

/// If fewer entries of the other thread are new, most of what it knows is not.
const FEWEST_NEW: i32 = if cfg!(test) { 1 } else { 2 };

impl Ideal<LockTable> {
    /// Whether it is possible and pays to take in another thread's set as a whole. It is not done where locks are held shared.
    #[inline]
    pub(super) fn can_join(&self, other: &Ideal<LockTable>) -> bool {
        let threads = other.times.len();
        let begun = self.begun.get(other.own.thread as usize).copied().unwrap_or(0);
        (other.own_begun.wrapping_sub(begun) as i32) >= FEWEST_NEW
            && threads >= FEWEST_THREADS
            && other.latest.len() <= 4 * threads
            && !other.latest.has_readers()
            && !self.latest.has_readers()
    }

    /// Adds the set of another thread, but for its own times: those have to be added up to the last of the entries that it has taken in. Queues what has
    /// to come inside with it.
    pub(super) fn join(&mut self, other: &Ideal<LockTable>, sections: &Sections, pending: &mut Vec<Epoch>) {
        let owner = other.own.thread as usize;
        self.grow_to(other.times.len().max(owner + 1));
        let own_time = self.times[owner];
        raise(&mut self.times, &other.times);
        raise_places(&mut self.begun, &other.begun);
        self.times[owner] = own_time;
        self.begun[owner] = other.own_begun;
        self.write_own();
        for (&hub, &count) in &other.gathered {
            let inside = self.gathered.entry(hub).or_default();
            *inside = count.max(*inside);
        }
        other.latest.for_each(|lock, theirs| {
            let ours = self.latest.latest(lock);
            if theirs.number > ours.number {
                self.latest.set_latest(lock, theirs);
                self.finish_latest(ours, sections, pending);
            } else if theirs.number < ours.number {
                self.finish_latest(theirs, sections, pending);
            }
        });
    }
}

/// Raises each component to that of another clock.
fn raise(times: &mut [Time], to: &[Time]) {
    for (time, &to) in times.iter_mut().zip(to) {
        *time = to.max(*time);
    }
}

/// As [`raise`], for places, which wrap around: a place is behind another one that is less than half of all numbers away.
fn raise_places(places: &mut [u32], to: &[u32]) {
    for (place, &to) in places.iter_mut().zip(to) {
        let is_behind = (to.wrapping_sub(*place) as i32) > 0;
        *place = if is_behind { to } else { *place };
    }
}

impl LockTable {
    /// How many locks it has room for.
    fn len(&self) -> usize {
        self.dense.len() + self.sparse.len()
    }

    fn has_readers(&self) -> bool {
        !self.readers.is_empty()
    }

    fn for_each(&self, mut take: impl FnMut(LockId, Latest)) {
        for (lock, &latest) in self.dense.iter().enumerate() {
            if latest.number > 0 {
                take(LockId::from_index(lock), latest);
            }
        }
        self.sparse.iter().for_each(|(&lock, &latest)| take(lock, latest));
    }
}

//! What reads of a recording may have seen, for the checker. Shares no code with what builds schedules.
//!
//! A write may have been seen by a read of its variable unless the read is known to come before it, or another write of the
//! variable is known to come between the two. What is known: happens-before, and the order of atomic accesses to one
//! variable.

use std::sync::Arc;

use overtake_clock::Time;
use overtake_trace::{Action, Event, Sizes, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::access::AccessKind;
use crate::detector::LockMode;
use crate::hb::SyncClocks;

/// Where an event is in the repaired trace.
type Place = usize;

/// An access by its place, and whether it is atomic.
pub(super) type Accessed = (Place, bool);

/// The order that a recording tells, and the writes of each variable.
#[derive(Default)]
pub(super) struct Recorded {
    clocks: SyncClocks,
    moments: Vec<Moment>,
    writes: FxHashMap<VarId, Vec<Writes>>,
}

/// What the thread of an event knew at it.
struct Moment {
    thread: ThreadId,
    time: Time,
    known: Arc<[Time]>,
}

/// Writes of one thread to one variable, all atomic or none, in trace order.
struct Writes {
    thread: ThreadId,
    atomic: bool,
    places: Vec<Place>,
}

impl Recorded {
    /// Takes the next event of the trace.
    pub(super) fn add(&mut self, event: &Event, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        let thread = event.thread();
        let clocks = &mut self.clocks;
        match event.action() {
            Action::Load(var, order) => clocks.atomic_acquire(thread, var, AccessKind::Load, order),
            Action::Rmw(var, order) => clocks.atomic_acquire(thread, var, AccessKind::Rmw, order),
            _ => {}
        }
        self.note_moment(thread);
        let clocks = &mut self.clocks;
        match event.action() {
            Action::Store(var, order) => clocks.atomic_release(thread, var, AccessKind::Store, order),
            Action::Rmw(var, order) => clocks.atomic_release(thread, var, AccessKind::Rmw, order),
            Action::Acquire(lock) => clocks.acquire(thread, lock, LockMode::Exclusive),
            Action::AcquireShared(lock) => clocks.acquire(thread, lock, LockMode::Shared),
            Action::Release(lock) => clocks.release(thread, lock, LockMode::Exclusive),
            Action::ReleaseShared(lock) => clocks.release(thread, lock, LockMode::Shared),
            Action::Fork(child) => clocks.fork(thread, child),
            Action::Join(child) => clocks.join(thread, child),
            Action::Post(object) => clocks.post(thread, object),
            Action::Wait(object) => clocks.wait(thread, object),
            Action::Fence(order) => clocks.fence(thread, order),
            _ => {}
        }
    }

    fn note_moment(&mut self, thread: ThreadId) {
        let clock = self.clocks.thread(thread);
        let times = clock.learned().times();
        let same = self.moments.iter().rev().take(64).find(|moment| *moment.known == *times);
        let known = same.map_or_else(|| times.into(), |moment| Arc::clone(&moment.known));
        self.moments.push(Moment { thread, time: clock.epoch().time, known });
    }

    /// The event that was added last writes a variable.
    pub(super) fn add_write(&mut self, var: VarId, atomic: bool) {
        let place = self.moments.len() - 1;
        let thread = self.moments[place].thread;
        let lists = self.writes.entry(var).or_default();
        match lists.iter_mut().find(|list| list.thread == thread && list.atomic == atomic) {
            Some(list) => list.places.push(place),
            None => lists.push(Writes { thread, atomic, places: vec![place] }),
        }
    }

    /// Whether a write is known to come before a read of its variable.
    pub(super) fn is_known_before(&self, write: Place, read: Accessed, var: VarId) -> bool {
        let lists = self.writes.get(&var).map_or(&[][..], Vec::as_slice);
        let list = lists.iter().find(|list| list.places.binary_search(&write).is_ok());
        list.is_some_and(|list| self.is_before((write, list.atomic), read))
    }

    /// Whether an access is known to come before another one to the same variable.
    fn is_before(&self, (first, first_atomic): Accessed, (second, second_atomic): Accessed) -> bool {
        let [one, other] = [first, second].map(|place| &self.moments[place]);
        if one.thread == other.thread || first_atomic && second_atomic {
            return first < second;
        }
        other.known.get(one.thread.0 as usize).is_some_and(|&time| time >= one.time)
    }

    /// The writes that a read of a variable may have seen: of those by one thread, the last one. A schedule that has an event has
    /// all before it in its thread.
    pub(super) fn may_be_seen(&self, var: VarId, read: Accessed) -> Vec<Place> {
        let lists = self.writes.get(&var).map_or(&[][..], Vec::as_slice);
        let hiding = lists.iter().filter_map(|list| {
            let before = list.places.partition_point(|&write| self.is_before((write, list.atomic), read));
            before.checked_sub(1).map(|last| (list.places[last], list.atomic))
        });
        let hiding: Vec<Accessed> = hiding.collect();
        let last = lists.iter().filter_map(|list| {
            let not_after = list.places.partition_point(|&write| !self.is_before(read, (write, list.atomic)));
            let place = list.places[..not_after].iter().rfind(|&&write| write != read.0);
            place.map(|&place| (place, list.atomic))
        });
        let is_hidden = |&write: &Accessed| hiding.iter().any(|&other| self.is_before(write, other));
        last.filter(|write| !is_hidden(write)).map(|(place, _)| place).collect()
    }
}

//! Landmarks: what the checker knew at some places of a trace, so that a reader can start there instead of at the first event.

use overtake_rules::LockMode;
use rustc_hash::FxHashMap;

use super::Checker;
use super::ordinary::Holder;
use crate::event::Event;
use crate::id::{EventIndex, LockId, ThreadId};

/// Events between two landmarks for each held lock of a landmark, so that landmarks take little time and space compared to the events.
const EVENTS_PER_ENTRY: u64 = 16;

/// The landmarks of a well-formed trace in order, and where threads were started and joined.
///
/// A trace that needed repairs has no landmarks: its events differ from those of the file.
#[derive(Clone, Default, Debug)]
pub struct Landmarks {
    places: Vec<Landmark>,
    pub(super) lives: Lives,
    pub(super) events: u64,
}

/// The state of a trace before one of its events.
#[derive(Clone, Debug)]
pub struct Landmark {
    /// The event that comes next.
    pub next: EventIndex,
    /// Who held which locks.
    pub held: Box<[HeldLock]>,
    /// How many events each thread had, for the threads named so far.
    pub lengths: Box<[u64]>,
}

/// A lock that a thread held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HeldLock {
    /// The lock.
    pub lock: LockId,
    /// Its holder, or one of them.
    pub thread: ThreadId,
    /// Whether other threads may hold it at the same time.
    pub shared: bool,
}

/// An event with its index.
pub type Seen = (EventIndex, Event);

/// Where threads were started and joined.
#[derive(Clone, Default, Debug)]
pub(super) struct Lives {
    /// The first fork of each thread.
    pub(super) forks: FxHashMap<ThreadId, (Seen, u64)>,
    /// The last join of one thread by another. In the key, the joined thread comes first.
    pub(super) joins: FxHashMap<[ThreadId; 2], (Seen, u64)>,
}

impl Landmarks {
    /// Notes what `checker` knows after all events before `next`, unless the last landmark is too near.
    pub fn note(&mut self, checker: &Checker, next: EventIndex) {
        self.events = next.0;
        self.note_place(checker.locks.len() + checker.threads.len(), next, || checker.landmark(next));
    }

    /// Notes a landmark, unless the last one is too near for tables with so many entries.
    pub(super) fn note_place(
        &mut self,
        entries: usize,
        next: EventIndex,
        landmark: impl FnOnce() -> Landmark,
    ) {
        let last = self.places.last().map_or(0, |last| last.next.0);
        let held = self.places.last().map_or(0, |last| last.held.len());
        if next.0 - last >= EVENTS_PER_ENTRY * held as u64 + entries as u64 {
            self.places.push(landmark());
        }
    }

    /// Takes over what is known only at the end of the trace. Drops all landmarks if the trace was repaired.
    pub fn finish(&mut self, checker: Checker) {
        match checker.repairs().total() {
            0 => self.lives = checker.lives,
            _ => *self = Landmarks::default(),
        }
    }

    /// Whether there are no landmarks, so that the trace has to be read from the start.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The number of events of the trace.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The last landmark before the event or at it. None: read from the start of the trace.
    pub fn before(&self, index: EventIndex) -> Option<&Landmark> {
        self.places[..self.places.partition_point(|place| place.next <= index)].last()
    }

    /// The first fork of each thread, with the number of events that the forking thread had before it.
    pub fn forks(&self) -> impl Iterator<Item = (ThreadId, Seen, u64)> + '_ {
        self.lives.forks.iter().map(|(&thread, &(seen, ordinal))| (thread, seen, ordinal))
    }

    /// The last join of one thread by another, with the number of events that the joining thread had before it. The joined thread
    /// comes first.
    pub fn joins(&self) -> impl Iterator<Item = ([ThreadId; 2], Seen, u64)> + '_ {
        self.lives.joins.iter().map(|(&threads, &(seen, ordinal))| (threads, seen, ordinal))
    }
}

impl Checker {
    /// An event with its index, and the number of events that its thread had before it.
    pub(super) fn seen(&self, index: EventIndex, event: Event) -> (Seen, u64) {
        ((index, event), self.threads[event.thread()].events.saturating_sub(1))
    }

    pub(super) fn landmark(&self, next: EventIndex) -> Landmark {
        let mut held = Vec::new();
        for lock in self.ordinary.locks_in_use() {
            let exclusive = |thread| HeldLock { lock, thread, shared: false };
            match self.ordinary.holder(lock) {
                Holder::Nobody => {}
                Holder::Thread(thread) => held.push(exclusive(ThreadId(thread))),
                Holder::Involved => held.extend(self.locks[lock].holders.holdings().map(|holding| {
                    let shared = holding.mode == LockMode::Shared;
                    HeldLock { lock, thread: holding.thread, shared }
                })),
            }
        }
        let lengths = self.threads.iter().map(|state| state.events).collect();
        Landmark { next, held: held.into(), lengths }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Block, EventSource, Trace};

    fn landmarks(text: &[u8], block_events: usize) -> Landmarks {
        let trace = Trace::parse_std(text).expect("a good trace");
        let mut source = trace.source().with_block_events(block_events);
        let mut checker = Checker::repairing();
        let mut landmarks = Landmarks::default();
        let mut block = Block::default();
        while source.next_block(&mut block).expect("in memory") {
            let next = EventIndex(block.first.0 + block.events.len() as u64);
            checker.check(&mut block, source.symbols_mut()).expect("repaired");
            landmarks.note(&checker, next);
        }
        landmarks.finish(checker);
        landmarks
    }

    const TRACE: &[u8] =
        b"T0|fork(T1)|1\nT0|acq(m)|2\nT0|w(x)|3\nT1|racq(n)|4\nT1|r(y)|5\nT0|rel(m)|6\nT1|rrel(n)|7\nT0|join(T1)|8\n";

    #[test]
    fn held_locks_and_lengths_are_those_of_the_place() {
        let landmarks = landmarks(TRACE, 5);
        let place = landmarks.before(EventIndex(7)).expect("one after the first block");
        assert_eq!((place.next, &*place.lengths), (EventIndex(5), &[3, 2][..]));
        let held = |lock, thread, shared| HeldLock { lock: LockId(lock), thread: ThreadId(thread), shared };
        assert_eq!(*place.held, [held(0, 0, false), held(1, 1, true)]);
        assert!(landmarks.before(EventIndex(4)).is_none());
    }

    #[test]
    fn forks_and_joins_are_remembered_with_their_place() {
        let landmarks = landmarks(TRACE, 5);
        let forks: Vec<_> = landmarks.forks().map(|(thread, (index, _), at)| (thread, index, at)).collect();
        assert_eq!(forks, [(ThreadId(1), EventIndex(0), 0)]);
        let joins: Vec<_> = landmarks.joins().map(|(threads, (index, _), at)| (threads, index, at)).collect();
        assert_eq!(joins, [([ThreadId(1), ThreadId(0)], EventIndex(7), 4)]);
    }

    #[test]
    fn a_repaired_trace_has_none() {
        assert!(landmarks(b"T0|rel(m)|1\nT0|w(x)|2\n", 1).is_empty());
    }
}

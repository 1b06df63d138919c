//! The output of generators.

use overtake_trace::{Action, Event, LocationId, ThreadId, VarId};
use std::collections::BTreeSet;

/// The events of the block being filled, and the length of the whole trace.
#[derive(Debug)]
pub(crate) struct Tape {
    pub(crate) events: Vec<Event>,
    /// Events that left the tape in earlier blocks.
    handed_out: u64,
    total: u64,
}

impl Tape {
    pub(crate) fn new(total: u64) -> Tape {
        Tape { events: Vec::new(), handed_out: 0, total }
    }

    #[inline]
    pub(crate) fn push(&mut self, thread: u32, action: Action, location: LocationId) {
        self.events.push(Event::new(ThreadId(thread), action, location));
    }

    /// The index of the next event.
    #[inline]
    pub(crate) fn index(&self) -> u64 {
        self.handed_out + self.events.len() as u64
    }

    /// How many events the trace still needs. If more are written, the rest is cut off.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        self.total.saturating_sub(self.index())
    }

    /// How many events of the trace are not handed out yet.
    pub(crate) fn unread(&self) -> u64 {
        self.total - self.handed_out
    }

    /// Moves the first `count` events into `block`, keeping the rest for the next block.
    pub(crate) fn hand_out(&mut self, block: &mut Vec<Event>, count: usize) {
        block.clear();
        std::mem::swap(block, &mut self.events);
        self.events.extend_from_slice(&block[count..]);
        block.truncate(count);
        self.handed_out += count as u64;
    }
}

/// Writes the events of one shape.
///
/// Generators hold the whole state of the traced program (who holds which lock, where each thread is), so that every event
/// they write is allowed at its place, and a trace that is cut anywhere is well formed.
pub(crate) trait Generator: std::fmt::Debug {
    /// Appends events until the tape holds `until` or the trace is complete; may append a few more.
    fn fill(&mut self, tape: &mut Tape, until: usize);

    /// What is known by construction about the events written so far.
    fn expectation(&self) -> Option<Expectation> {
        None
    }

    /// Bytes of the generator's tables.
    fn state_bytes(&self) -> usize;
}

/// What a generated trace is known to contain, by construction and not by detection.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// Exactly the variables that have a happens-before race.
    pub racy_variables: BTreeSet<VarId>,
    /// At least this many events have to change before the trace is free of happens-before races.
    pub distance_to_race_free: u64,
}

impl Expectation {
    /// Notes that `var` has a race whose second access is the next event of `tape`, unless the trace ends before.
    pub(crate) fn note_race(&mut self, tape: &Tape, var: VarId) {
        if tape.left() > 0 {
            self.racy_variables.insert(var);
            self.distance_to_race_free = self.distance_to_race_free.max(1);
        }
    }
}

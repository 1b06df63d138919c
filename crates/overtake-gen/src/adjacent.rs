//! Races between two neighbouring events.
//!
//! Right after an access by one thread, another thread writes the same variable. No event between the two could
//! order them, so they race whatever the rest of the trace does. If everything else is race free, these variables are
//! exactly the racy ones.

use overtake_trace::{Action, LocationId, VarId};

use crate::rng::Rng;
use crate::tape::{Expectation, Tape};

/// Plans such races, and remembers their variables.
#[derive(Debug)]
pub(crate) struct AdjacentRaces {
    rate: f64,
    /// Shared accesses until the next one that gets a race.
    countdown: u64,
    line: LocationId,
    expectation: Expectation,
}

impl AdjacentRaces {
    pub(crate) fn new(rate: f64, line: LocationId, rng: &mut Rng) -> AdjacentRaces {
        AdjacentRaces { rate, countdown: rng.gap(rate), line, expectation: Expectation::default() }
    }

    /// Counts a shared access that was just written. Returns whether it gets a race.
    #[inline]
    pub(crate) fn is_next(&mut self) -> bool {
        self.countdown -= 1;
        self.countdown == 0
    }

    /// Writes `var`, which another thread has just accessed, by `thread`.
    #[cold]
    pub(crate) fn race(&mut self, tape: &mut Tape, thread: u32, var: VarId, rng: &mut Rng) {
        self.countdown = rng.gap(self.rate);
        self.expectation.note_race(tape, var);
        tape.push(thread, Action::Write(var), self.line);
    }

    /// Plans no race this time, because there is no other thread.
    pub(crate) fn skip(&mut self, rng: &mut Rng) {
        self.countdown = rng.gap(self.rate);
    }

    pub(crate) fn expectation(&self) -> Expectation {
        self.expectation.clone()
    }
}

/// A random thread below `threads` other than `thread`, if there is one.
pub(crate) fn other_thread(threads: u32, thread: u32, rng: &mut Rng) -> Option<u32> {
    (threads > 1).then(|| (thread + 1 + rng.below(threads - 1)) % threads)
}

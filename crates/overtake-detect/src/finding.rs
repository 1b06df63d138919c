//! What detectors find: races and deadlocks.
//!
//! A misuse is no finding of a detector: one operation is wrong, whatever other threads do. It is an event of the trace
//! ([`MisuseKind`](overtake_trace::MisuseKind)), the checker hands it over, and reports have it whichever detectors ran.

use overtake_trace::LockId;
use smallvec::SmallVec;

use crate::access::At;
use crate::extent::Extent;
use crate::findings::Grouped;
use crate::race::{Race, Verdict};

/// Something that a detector found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Finding {
    /// Two conflicting accesses that can happen at the same time.
    Race(Race),
    /// Threads that can come to wait for each other forever.
    Deadlock(Deadlock),
}

impl From<Race> for Finding {
    fn from(race: Race) -> Finding {
        Finding::Race(race)
    }
}

impl From<Deadlock> for Finding {
    fn from(deadlock: Deadlock) -> Finding {
        Finding::Deadlock(deadlock)
    }
}

/// Threads each of which waits for a lock that the next one holds; the last one waits for the first.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Deadlock {
    /// One step for each thread. The thread of the next step holds the lock that this one waits for.
    pub steps: Vec<DeadlockStep>,
    /// How sure it is.
    pub verdict: Verdict,
}

/// What one thread of a deadlock does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DeadlockStep {
    /// The acquire at which the thread waits.
    pub at: At,
    /// The lock that it waits for.
    pub lock: LockId,
    /// The acquire by which it holds what the step before waits for.
    pub held_at: At,
    /// That lock.
    pub held: LockId,
}

impl Deadlock {
    /// A deadlock of a cycle of steps, wherever the cycle is entered. The step of the earliest waiting acquire becomes the first.
    pub fn new(mut steps: Vec<DeadlockStep>, verdict: Verdict) -> Deadlock {
        let first = (0..steps.len()).min_by_key(|&at| steps[at].at.index).unwrap_or(0);
        steps.rotate_left(first);
        Deadlock { steps, verdict }
    }
}

/// Deadlocks of the same acquires, by location, are one group; where a location is unknown, the lock stands for it.
impl Grouped for Deadlock {
    type Key = SmallVec<[[u64; 2]; 4]>;

    fn key(&self, _: Option<Extent>) -> Self::Key {
        let side = |at: At, lock: LockId| match at.location.is_known() {
            true => u64::from(at.location.0) << 1,
            false => u64::from(lock.0) << 1 | 1,
        };
        let mut key: Self::Key =
            self.steps.iter().map(|step| [side(step.at, step.lock), side(step.held_at, step.held)]).collect();
        let first = (0..key.len()).min_by_key(|&at| rotation(&key, at).collect::<Self::Key>()).unwrap_or(0);
        key.rotate_left(first);
        key
    }

    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }
}

/// A cycle from one of its positions on.
fn rotation(cycle: &[[u64; 2]], first: usize) -> impl Iterator<Item = [u64; 2]> {
    cycle[first..].iter().chain(&cycle[..first]).copied()
}

//! The passes behind `deadlock` and `lock-order`: first which patterns there are, then their occurrences.

use overtake_trace::{IdVec, LockId, Sizes, SyncId, ThreadId};

use super::nesting::{Abstract, Nestings, Node, Take};
use super::occurrences::{Occurrence, Occurrences, Place};
use super::patterns::Patterns;
use crate::access::At;
use crate::detector::LockMode;
use crate::finding::{Deadlock, DeadlockStep};
use crate::race::Verdict;
use crate::syncp::Follower;
use crate::visitor::{Touch, Visitor};

/// What a pattern has to pass to be reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Question {
    /// A sync-preserving reordering leads to it.
    Reordering,
    /// Fork, join and wait do not forbid it.
    LockOrder,
}

impl Question {
    /// The verdict on what passes.
    pub(super) fn verdict(self) -> Verdict {
        match self {
            Question::Reordering => Verdict::Predicted,
            Question::LockOrder => Verdict::Suspected,
        }
    }
}

/// The first pass: which locks are taken under which.
#[derive(Default, Debug)]
pub(super) struct Survey {
    nestings: Nestings,
    /// How often each node occurred.
    counts: Vec<u64>,
    /// The next acquire is a try.
    tries: bool,
    /// Whether each thread's last request was not granted yet. Empty in most traces.
    waits: IdVec<ThreadId, bool>,
}

/// The second pass: the occurrences of the nodes that are in a pattern.
#[derive(Debug)]
pub(super) struct Collection {
    question: Question,
    nestings: Nestings,
    patterns: Patterns,
    in_pattern: Vec<bool>,
    /// How many occurrences are still to come.
    to_come: u64,
    follower: Follower,
    /// Where each thread took the locks that it holds.
    places: IdVec<ThreadId, Vec<Place>>,
    occurrences: Occurrences,
    /// The next acquire is a try.
    tries: bool,
}

impl Survey {
    pub(super) fn state_bytes(&self) -> usize {
        self.nestings.state_bytes() + self.counts.capacity() * size_of::<u64>()
    }

    /// Whether any thread waits for a lock when the trace ends.
    pub(super) fn ends_waiting(&self) -> bool {
        self.waits.iter().any(|waits| *waits)
    }

    /// What to look for in the second pass; none if there are no patterns.
    pub(super) fn into_collection(self, question: Question, steps: u64) -> Option<Collection> {
        let Survey { mut nestings, counts, .. } = self;
        let patterns = Patterns::of(&nestings, steps);
        if patterns.cycles.is_empty() {
            return None;
        }
        let mut in_pattern = vec![false; nestings.all().count()];
        patterns.cycles.iter().flatten().for_each(|node| in_pattern[node.0 as usize] = true);
        let to_come =
            counts.iter().zip(&in_pattern).filter(|(_, inside)| **inside).map(|(count, _)| count).sum();
        nestings.begin_again();
        Some(Collection {
            question,
            nestings,
            patterns,
            in_pattern,
            to_come,
            follower: Follower::default(),
            places: IdVec::new(),
            occurrences: Occurrences::default(),
            tries: false,
        })
    }
}

impl Collection {
    /// The deadlocks of the patterns, in the order of the patterns.
    pub(super) fn deadlocks(&self, verdict: Verdict) -> impl Iterator<Item = Deadlock> {
        self.patterns.cycles.iter().filter_map(move |cycle| {
            let occurrences = self.occurrences.walk(cycle, self.follower.sections())?;
            Some(Deadlock::new(self.steps(cycle, &occurrences)?, verdict))
        })
    }

    pub(super) fn figures(&self) -> [(&'static str, u64); 2] {
        [
            ("patterns of locks", self.patterns.cycles.len() as u64),
            ("acquires in patterns", self.occurrences.count() as u64),
        ]
    }

    pub(super) fn is_incomplete(&self) -> bool {
        self.patterns.incomplete
    }

    /// What each thread of a cycle wants and holds.
    fn steps(&self, cycle: &[Node], occurrences: &[Occurrence]) -> Option<Vec<DeadlockStep>> {
        let before = (0..cycle.len()).map(|at| cycle[(at + cycle.len() - 1) % cycle.len()]);
        let steps = cycle.iter().zip(occurrences).zip(before).map(|((&node, occurrence), before)| {
            let Abstract { thread, take, .. } = self.nestings.get(node);
            let wanted = self.nestings.get(before).take;
            let mut held = self.nestings.held_locks(node).enumerate();
            let (above, held) = held.find(|(_, held)| held.excludes(wanted))?;
            let depth = self.nestings.held(node).count();
            let place = self.occurrences.hold(occurrence, depth - 1 - above)?;
            Some(DeadlockStep {
                at: At { index: occurrence.index, thread, location: occurrence.location },
                lock: take.lock,
                held_at: At { index: place.index, thread, location: place.location },
                held: held.lock,
            })
        });
        steps.collect()
    }

    fn is_over(&self) -> bool {
        self.to_come == 0
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.nestings.state_bytes() + self.follower.state_bytes() + self.occurrences.state_bytes()
    }
}

impl Visitor for Survey {
    const SEES_PLAIN_ACCESSES: bool = false;

    fn reserve(&mut self, sizes: &Sizes) {
        self.nestings.reserve(sizes.threads);
    }

    fn tries(&mut self, _: At) {
        self.tries = true;
    }

    fn request(&mut self, at: At, _: LockId) {
        *self.waits.entry(at.thread) = true;
    }

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        if let Some(waits) = self.waits.get_mut(at.thread) {
            *waits = false;
        }
        let node =
            self.nestings.acquire(at.thread, Take { lock, mode, waits: !std::mem::take(&mut self.tries) }).0
                as usize;
        if node >= self.counts.len() {
            self.counts.resize(node + 1, 0);
        }
        self.counts[node] += 1;
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, _: LockMode) {
        self.nestings.release(at.thread, lock);
    }
}

impl Visitor for Collection {
    fn reserve(&mut self, sizes: &Sizes) {
        self.nestings.reserve(sizes.threads);
        self.places.grow_to(sizes.threads);
        self.follower.reserve(sizes);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        if self.question == Question::Reordering && !self.is_over() {
            self.follower.access(at, touch);
        }
    }

    fn tries(&mut self, _: At) {
        self.tries = true;
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        if self.is_over() {
            return;
        }
        let node =
            self.nestings.acquire(at.thread, Take { lock, mode, waits: !std::mem::take(&mut self.tries) });
        if self.in_pattern[node.0 as usize] {
            self.to_come -= 1;
            let (epoch, learned) = self.follower.now(at.thread);
            self.occurrences.add(node, epoch, learned, at, &self.places[at.thread]);
        }
        self.places[at.thread].push(Place { index: at.index, location: at.location });
        match self.question {
            Question::Reordering => self.follower.acquire(at, lock, mode),
            Question::LockOrder => self.follower.pass(at.thread),
        }
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode) {
        if self.is_over() {
            return;
        }
        if let Some(place) = self.nestings.release(at.thread, lock) {
            self.places[at.thread].remove(place);
        }
        if self.question == Question::Reordering {
            self.follower.release(at, lock);
        }
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.follower.fork(at, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.follower.join(at, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.follower.post(at, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.follower.wait(at, object);
    }
}

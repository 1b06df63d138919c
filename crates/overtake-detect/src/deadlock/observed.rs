//! Deadlocks in which the run ended: threads whose last request was never granted, each of a lock that the next one holds.
//!
//! A `request` says that its thread is about to take a lock. If it is the last event of its thread, the thread waits at the end of the trace. It waits for
//! every thread that holds the lock then, so each circle of such threads is one that waits for ever.

use overtake_trace::{Checked, Id, IdVec, LockId, MemoryOrder, Sizes, Symbols, SyncId, ThreadId};
use rustc_hash::FxHashMap;

use super::analysis::{Collection, Question};
use super::passes::Second;
use crate::access::At;
use crate::detector::LockMode;
use crate::finding::{Deadlock, DeadlockStep};
use crate::findings::Findings;
use crate::passes::{After, Pass};
use crate::race::Verdict;
use crate::run::{LiveBlocks, visit};
use crate::summary::DOUBTS;
use crate::visitor::{Touch, Visitor};

/// The pass that looks for them: only for traces with a request that was not granted.
pub(super) struct Observing {
    pub(super) held: Held,
    pub(super) question: Question,
    /// What to look for afterwards.
    pub(super) next: Option<Collection>,
}

/// Who holds what since when, and who waits for what since when.
#[derive(Default, Debug)]
pub(super) struct Held {
    locks: IdVec<ThreadId, Vec<(LockId, At)>>,
    requests: IdVec<ThreadId, Option<(LockId, At)>>,
    /// The last request of a lock that the thread holds itself says that it waits. A recorder knows; in other traces locks may be re-entrant.
    may_wait_for_itself: bool,
}

impl Pass for Observing {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.held, blocks, checked);
    }

    fn end(mut self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        self.held.may_wait_for_itself = symbols.program.is_recorded();
        self.held.deadlocks().into_iter().for_each(|deadlock| findings.report(deadlock));
        match self.next.take() {
            Some(collection) => After::Pass(Box::new(Second { question: self.question, collection })),
            None => After::Done(self),
        }
    }

    fn readings(&self) -> u32 {
        if self.next.is_some() { 2 + DOUBTS } else { 1 }
    }

    fn state_bytes(&self) -> usize {
        let locks = self.held.locks.iter().map(|locks| locks.capacity() * size_of::<(LockId, At)>());
        locks.sum::<usize>() + self.next.as_ref().map_or(0, Collection::state_bytes)
    }
}

impl Held {
    /// A thread does something, so it does not wait.
    fn goes_on(&mut self, thread: ThreadId) {
        self.requests[thread] = None;
    }
}

impl Visitor for Held {
    fn reserve(&mut self, sizes: &Sizes) {
        self.locks.grow_to(sizes.threads);
        self.requests.grow_to(sizes.threads);
    }

    fn request(&mut self, at: At, lock: LockId) {
        self.requests[at.thread] = Some((lock, at));
    }

    fn access(&mut self, at: At, _: Touch<'_>) {
        self.goes_on(at.thread);
    }

    fn fence(&mut self, at: At, _: MemoryOrder) {
        self.goes_on(at.thread);
    }

    fn fork(&mut self, at: At, _: ThreadId) {
        self.goes_on(at.thread);
    }

    fn join(&mut self, at: At, _: ThreadId) {
        self.goes_on(at.thread);
    }

    fn post(&mut self, at: At, _: SyncId) {
        self.goes_on(at.thread);
    }

    fn wait(&mut self, at: At, _: SyncId) {
        self.goes_on(at.thread);
    }

    fn other(&mut self, at: At) {
        self.goes_on(at.thread);
    }

    fn acquire(&mut self, at: At, lock: LockId, _: LockMode) {
        self.goes_on(at.thread);
        self.locks[at.thread].push((lock, at));
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode) {
        self.goes_on(at.thread);
        let locks = &mut self.locks[at.thread];
        if let Some(place) = locks.iter().rposition(|held| held.0 == lock) {
            locks.remove(place);
        }
    }
}

/// A thread on the way along those that wait, and how it holds what the one before it waits for.
struct Stop {
    thread: ThreadId,
    held_at: At,
    /// How many of those that it waits for have been looked at.
    looked_at: usize,
}

impl Held {
    /// The circles, each thread in one of them at most.
    fn deadlocks(&self) -> Vec<Deadlock> {
        let mut holders: FxHashMap<LockId, Vec<At>> = FxHashMap::default();
        for &(lock, at) in self.locks.iter().flatten() {
            holders.entry(lock).or_default().push(at);
        }
        let mut seen = vec![false; self.requests.iter().count()];
        let mut found = Vec::new();
        for (number, request) in self.requests.iter().enumerate() {
            if let Some((_, at)) = *request {
                let first = Stop { thread: ThreadId::from_index(number), held_at: at, looked_at: 0 };
                found.extend(self.circles_from(first, &holders, &mut seen));
            }
        }
        found
    }

    /// Goes from a thread to those that it waits for, and on, as far as nobody has been. A thread that comes again on the way closes a circle.
    fn circles_from(
        &self,
        first: Stop,
        holders: &FxHashMap<LockId, Vec<At>>,
        seen: &mut [bool],
    ) -> Vec<Deadlock> {
        let mut found = Vec::new();
        if std::mem::replace(&mut seen[first.thread.index()], true) {
            return found;
        }
        let mut way = vec![first];
        while let Some(stop) = way.last_mut() {
            let wanted = self.requests[stop.thread].map(|(lock, _)| lock);
            let held_at = wanted.and_then(|lock| holders.get(&lock)?.get(stop.looked_at).copied());
            let Some(held_at) = held_at else {
                way.pop();
                continue;
            };
            stop.looked_at += 1;
            let thread = held_at.thread;
            if thread == stop.thread && !self.may_wait_for_itself {
                continue;
            }
            if let Some(start) = way.iter().position(|stop| stop.thread == thread) {
                found.extend(self.circle(&way[start..], held_at));
            } else if !std::mem::replace(&mut seen[thread.index()], true) {
                way.push(Stop { thread, held_at, looked_at: 0 });
            }
        }
        found
    }

    /// The deadlock of a circle whose first thread took what the last one waits for at `closed_at`.
    fn circle(&self, way: &[Stop], closed_at: At) -> Option<Deadlock> {
        let requests = way.iter().map(|stop| self.requests[stop.thread]).collect::<Option<Vec<_>>>()?;
        let steps = way.iter().enumerate().map(|(number, stop)| {
            let before = if number == 0 { requests.len() - 1 } else { number - 1 };
            let held_at = if number == 0 { closed_at } else { stop.held_at };
            let (lock, at) = requests[number];
            DeadlockStep { at, lock, held_at, held: requests[before].0 }
        });
        Some(Deadlock::new(steps.collect(), Verdict::Observed))
    }
}

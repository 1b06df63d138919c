//! Sync-preserving and lock-based races by their definitions, for small traces of reads, writes, locks, forks and joins.

use std::collections::{BTreeMap, BTreeSet};

use overtake_trace::{Action, LockId, ThreadId, Trace, VarId};

/// The relations of the definitions, for every event.
struct Relations<'a> {
    trace: &'a Trace,
    /// The event before in the thread, the last write, and what a join needs.
    needs: Vec<Vec<usize>>,
    /// The event before in the same thread, or the fork.
    previous: Vec<Option<usize>>,
    /// Where the section of an acquire ends.
    release: BTreeMap<usize, usize>,
    held: Vec<BTreeSet<LockId>>,
}

impl Relations<'_> {
    fn new(trace: &Trace) -> Relations<'_> {
        let mut last_of: BTreeMap<ThreadId, usize> = BTreeMap::new();
        let mut last_write: BTreeMap<VarId, usize> = BTreeMap::new();
        let mut open: BTreeMap<LockId, usize> = BTreeMap::new();
        let mut holding: BTreeMap<ThreadId, BTreeSet<LockId>> = BTreeMap::new();
        let mut relations =
            Relations { trace, needs: vec![], previous: vec![], release: BTreeMap::new(), held: vec![] };
        for (at, event) in trace.events.iter().enumerate() {
            let thread = event.thread();
            let previous = last_of.insert(thread, at);
            let mut needs: Vec<usize> = previous.into_iter().collect();
            match event.action() {
                Action::Read(var) => needs.extend(last_write.get(&var)),
                Action::Write(var) => drop(last_write.insert(var, at)),
                Action::Acquire(lock) => {
                    open.insert(lock, at);
                    holding.entry(thread).or_default().insert(lock);
                }
                Action::Release(lock) => {
                    relations.release.extend(open.remove(&lock).map(|acquire| (acquire, at)));
                    holding.entry(thread).or_default().remove(&lock);
                }
                Action::Fork(child) => drop(last_of.insert(child, at)),
                Action::Join(child) => needs.extend(last_of.get(&child)),
                _ => {}
            }
            relations.needs.push(needs);
            relations.previous.push(previous);
            relations.held.push(holding.get(&thread).cloned().unwrap_or_default());
        }
        relations
    }

    fn conflicts(&self) -> Vec<(usize, usize)> {
        let access = |at: usize| match self.trace.events[at].action() {
            Action::Read(var) => Some((var, false)),
            Action::Write(var) => Some((var, true)),
            _ => None,
        };
        let mut pairs = Vec::new();
        for second in 0..self.trace.events.len() {
            for first in 0..second {
                if let (Some((var, writes)), Some((other, also_writes))) = (access(first), access(second))
                    && var == other
                    && (writes || also_writes)
                    && self.trace.events[first].thread() != self.trace.events[second].thread()
                {
                    pairs.push((first, second));
                }
            }
        }
        pairs
    }

    /// The smallest set that contains `start` and what its members need, and in which the earlier one of two sections of a lock
    /// is complete.
    fn sync_preserving_closure(&self, start: impl IntoIterator<Item = usize>) -> BTreeSet<usize> {
        let mut closed = BTreeSet::new();
        let mut todo: Vec<usize> = start.into_iter().collect();
        loop {
            while let Some(at) = todo.pop() {
                if closed.insert(at) {
                    todo.extend(&self.needs[at]);
                }
            }
            let mut latest: BTreeMap<LockId, usize> = BTreeMap::new();
            for &at in &closed {
                if let Action::Acquire(lock) = self.trace.events[at].action()
                    && let Some(earlier) = latest.insert(lock, at)
                {
                    todo.extend(self.release.get(&earlier).filter(|release| !closed.contains(release)));
                }
            }
            if todo.is_empty() {
                return closed;
            }
        }
    }
}

/// All sync-preserving races.
pub(crate) fn sync_preserving_pairs(trace: &Trace) -> BTreeSet<(usize, usize)> {
    let relations = Relations::new(trace);
    let races = |&(first, second): &(usize, usize)| {
        let before = [relations.previous[first], relations.previous[second]];
        !relations.sync_preserving_closure(before.into_iter().flatten()).contains(&first)
    };
    relations.conflicts().into_iter().filter(races).collect()
}

/// All lock-cover races.
pub(crate) fn lock_cover_pairs(trace: &Trace) -> BTreeSet<(usize, usize)> {
    let relations = Relations::new(trace);
    let disjoint =
        |&(first, second): &(usize, usize)| relations.held[first].is_disjoint(&relations.held[second]);
    relations.conflicts().into_iter().filter(disjoint).collect()
}

/// All lock-set races.
pub(crate) fn lock_set_variables(trace: &Trace) -> BTreeSet<VarId> {
    let relations = Relations::new(trace);
    let conflicting: BTreeSet<VarId> =
        relations.conflicts().iter().map(|&(first, _)| VarId(trace.events[first].operand())).collect();
    let unprotected = |var: &VarId| {
        let mut protecting: Option<BTreeSet<LockId>> = None;
        for (event, held) in trace.events.iter().zip(&relations.held) {
            if matches!(event.action(), Action::Read(other) | Action::Write(other) if other == *var) {
                protecting = Some(protecting.map_or(held.clone(), |locks| &locks & held));
            }
        }
        protecting.is_some_and(|locks| locks.is_empty())
    };
    conflicting.into_iter().filter(unprotected).collect()
}

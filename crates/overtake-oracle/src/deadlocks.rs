//! Deadlocks: threads that wait for each other in a circle.
//!
//! **Source.** Tunç, Mathur, Pavlogiannis and Viswanathan, *Sound Dynamic Deadlock Prediction in Linear Time*, PLDI 2023.
//! The definition by reorderings is in `enumeration`; that both agree is a test.

use std::collections::{BTreeMap, BTreeSet};

use overtake_trace::{Action, EventIndex, LockId, ThreadId, Trace};

use crate::history::{History, LockUse};
use crate::sync_preserving::Closures;

/// Acquires in distinct threads. Each acquires a lock that the thread of the next one holds, and the last one a lock that the
/// thread of the first one holds. The acquire that comes first in the trace is first in the list.
pub type Deadlock = Vec<EventIndex>;

/// The cycles in which no acquire is in the SP-closure of the events that directly precede the acquires.
pub fn sync_preserving_deadlocks(trace: &Trace) -> BTreeSet<Deadlock> {
    let history = History::new(trace);
    let closures = Closures::new(&history);
    let is_deadlock = |cycle: &Vec<usize>| {
        let closed = closures.sync_preserving(cycle.iter().flat_map(|&at| history.previous(at)));
        !cycle.iter().any(|&at| closed.contains(at))
    };
    cycles(&history).into_iter().filter(is_deadlock).map(|cycle| indices(&history, &cycle)).collect()
}

/// The cycles of acquires in distinct threads that the order of locks alone suspects: the threads hold no locks that exclude each
/// other, and no acquire depends on another.
pub fn lock_order_cycles(trace: &Trace) -> BTreeSet<Deadlock> {
    let history = History::new(trace);
    let needed = hard_dependencies(&history);
    let is_possible = |cycle: &Vec<usize>| {
        let closed: Vec<usize> = cycle.iter().flat_map(|&at| history.previous(at)).collect();
        !cycle.iter().any(|&at| closed.iter().any(|&prev| needed[prev].contains(at)))
    };
    cycles(&history).into_iter().filter(is_possible).map(|cycle| indices(&history, &cycle)).collect()
}

/// The threads that wait in a circle when the trace ends, which must be well formed. A thread waits if its last event is a request, for every other thread
/// that has acquired that lock more often than released it.
pub fn threads_that_wait_for_ever(trace: &Trace) -> BTreeSet<ThreadId> {
    let mut depths: BTreeMap<(ThreadId, LockId), i64> = BTreeMap::new();
    let mut last: BTreeMap<ThreadId, Action> = BTreeMap::new();
    for event in &trace.events {
        let change = match event.action() {
            Action::Acquire(lock) | Action::AcquireShared(lock) => Some((lock, 1)),
            Action::Release(lock) | Action::ReleaseShared(lock) => Some((lock, -1)),
            _ => None,
        };
        if let Some((lock, change)) = change {
            *depths.entry((event.thread(), lock)).or_default() += change;
        }
        last.insert(event.thread(), event.action());
    }
    let waits_for = |thread: ThreadId, other: ThreadId| match last.get(&thread) {
        Some(&Action::Request(lock)) => {
            thread != other && depths.get(&(other, lock)).is_some_and(|depth| *depth > 0)
        }
        _ => false,
    };
    let threads: Vec<ThreadId> = last.keys().copied().collect();
    let reaches_itself = |&start: &ThreadId| {
        let mut reached: BTreeSet<ThreadId> = BTreeSet::new();
        loop {
            let next = threads.iter().copied().find(|&next| {
                let is_next = waits_for(start, next) || reached.iter().any(|&before| waits_for(before, next));
                is_next && !reached.contains(&next)
            });
            match next {
                Some(next) => reached.insert(next),
                None => return reached.contains(&start),
            };
        }
    };
    threads.iter().copied().filter(reaches_itself).collect()
}

/// What each event needs because of thread order, fork, join and wait, whatever its reads saw.
fn hard_dependencies(history: &History) -> Vec<crate::set::Set> {
    crate::set::before_or_at(history.steps.len(), |at, edges| {
        edges.extend(history.previous(at));
        edges.extend(history.awaited(at));
    })
}

/// The cycles among acquires that are the next events of their threads: each waits for a lock that the next one's thread
/// holds.
pub(crate) fn wait_cycles(history: &History, next: &[usize]) -> BTreeSet<Deadlock> {
    let mut waiting: Vec<_> =
        next.iter().copied().filter(|&at| history.steps[at].waits_for().is_some()).collect();
    waiting.sort_unstable();
    cycles_among(history, &waiting).iter().map(|cycle| indices(history, cycle)).collect()
}

fn indices(history: &History, cycle: &[usize]) -> Deadlock {
    cycle.iter().map(|&at| history.steps[at].index).collect()
}

/// All cycles of a history, as positions.
fn cycles(history: &History) -> Vec<Vec<usize>> {
    let acquires: Vec<_> =
        (0..history.steps.len()).filter(|&at| history.steps[at].waits_for().is_some()).collect();
    cycles_among(history, &acquires)
}

fn cycles_among(history: &History, acquires: &[usize]) -> Vec<Vec<usize>> {
    let held: Vec<(usize, Vec<LockUse>)> = acquires
        .iter()
        .map(|&at| {
            (at, history.open_sections(at).filter_map(|held| history.steps[held].acquires()).collect())
        })
        .collect();
    let mut found = Vec::new();
    for start in 0..held.len() {
        extend(history, &held, &mut vec![start], &mut found);
    }
    found
}

/// Extends a path of acquires in all ways, and keeps those that close to a cycle.
fn extend(
    history: &History,
    held: &[(usize, Vec<LockUse>)],
    path: &mut Vec<usize>,
    found: &mut Vec<Vec<usize>>,
) {
    let last = *path.last().expect("a path has a start");
    let (last_at, _) = held[last];
    let wanted = history.steps[last_at].acquires().expect("an acquire");
    if path.len() > 1 && held[path[0]].1.iter().any(|held| held.excludes(wanted)) {
        found.push(path.iter().map(|&one| held[one].0).collect());
    }
    for next in path[0] + 1..held.len() {
        let (at, locks) = &held[next];
        let is_other_thread =
            path.iter().all(|&one| history.steps[held[one].0].thread() != history.steps[*at].thread());
        let blocks = locks.iter().any(|held| held.excludes(wanted));
        let held_together = path
            .iter()
            .all(|&one| !held[one].1.iter().any(|one| locks.iter().any(|lock| lock.excludes(*one))));
        if is_other_thread && blocks && held_together {
            path.push(next);
            extend(history, held, path, found);
            path.pop();
        }
    }
}

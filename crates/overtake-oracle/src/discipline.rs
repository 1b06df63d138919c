//! Locking discipline: lock-set variables and lock-cover pairs.

use std::collections::BTreeSet;

use overtake_trace::{Action, LockId, Trace, VarId};

use crate::Pair;
use crate::history::{History, LockUse};

/// Something held at an access: a lock, or the imagined lock of its variable that an atomic access holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Held {
    what: Protector,
    shared: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Protector {
    Lock(LockId),
    Variable(VarId),
}

/// The variables that have a conflicting pair, and that no lock protects at all of their accesses, in all threads.
pub fn lock_set_variables(trace: &Trace) -> BTreeSet<VarId> {
    let history = History::new(trace);
    let with_conflict: BTreeSet<VarId> = history.conflicts().map(|(_, _, var)| var).collect();
    with_conflict.into_iter().filter(|&var| !is_protected(&history, var)).collect()
}

/// The conflicting pairs without a lock that is held at both accesses, at least once exclusively.
pub fn lock_cover_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let held: Vec<_> = (0..history.steps.len()).map(|at| held_at(&history, at)).collect();
    history.races(|first, second| {
        let covered = held[first]
            .iter()
            .any(|a| held[second].iter().any(|b| a.what == b.what && !(a.shared && b.shared)));
        !covered
    })
}

/// The lock-cover races that thread order, fork and join do not order.
pub fn open_cover_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let open = history.races(|first, second| !is_forked_before(&history, first, second));
    lock_cover_races(trace).intersection(&open).copied().collect()
}

/// Whether thread order, fork and join alone order two events.
fn is_forked_before(history: &History, first: usize, second: usize) -> bool {
    let mut after = BTreeSet::from([history.steps[first].thread()]);
    for step in &history.steps[first..second] {
        match step.event.action() {
            Action::Fork(child) if after.contains(&step.thread()) => {
                after.insert(child);
            }
            Action::Join(child) if after.contains(&child) => {
                after.insert(step.thread());
            }
            _ => {}
        }
    }
    after.contains(&history.steps[second].thread())
}

/// Whether some lock is held at every read of `var` in any mode and at every write exclusively.
fn is_protected(history: &History, var: VarId) -> bool {
    let mut protectors: Option<Vec<Protector>> = None;
    for (at, step) in history.steps.iter().enumerate() {
        for touch in step.touches().filter(|touch| touch.var == var) {
            let held = held_at(history, at).into_iter().filter(|held| !(touch.writes && held.shared));
            let here: Vec<_> = held.map(|held| held.what).collect();
            protectors = Some(match protectors {
                None => here,
                Some(before) => before.into_iter().filter(|protector| here.contains(protector)).collect(),
            });
        }
    }
    protectors.is_some_and(|protectors| !protectors.is_empty())
}

/// What the thread of the event at `at` holds there.
fn held_at(history: &History, at: usize) -> Vec<Held> {
    let step = &history.steps[at];
    let mut locks: Vec<LockUse> = Vec::new();
    for earlier in history.steps[..at].iter().filter(|earlier| earlier.thread() == step.thread()) {
        locks.extend(earlier.acquires());
        if let Some(released) = earlier.releases() {
            locks.retain(|&held| held != released);
        }
    }
    let own = step.atomic_variable().map(|var| Held { what: Protector::Variable(var), shared: false });
    let locks = locks.into_iter().map(|held| Held { what: Protector::Lock(held.lock), shared: held.shared });
    locks.chain(own).collect()
}

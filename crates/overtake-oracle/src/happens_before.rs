//! Happens-before and schedulable happens-before, as transitive closures of explicit edges.

use std::collections::BTreeSet;

use overtake_trace::{Action, Trace};

use crate::Pair;
use crate::atomics;
use crate::history::{History, Step};
use crate::set::{Set, before_or_at};

/// The conflicting pairs whose first event does not happen before the second.
pub fn happens_before_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let before = happens_before(&history, |_, _| {});
    history.races(|first, second| !before[second].contains(first))
}

/// The conflicting pairs whose first event is not ordered before or at what directly precedes the second. The order is
/// happens-before with an additional edge from each write to the reads that see it.
pub fn schedulable_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let before = happens_before(&history, |target, edges| edges.extend(history.seen_writes(target)));
    history.races(|first, second| !history.previous(second).any(|prev| before[prev].contains(first)))
}

/// What happens before or at each position. `more` adds edges, by their target.
pub(crate) fn happens_before(history: &History, mut more: impl FnMut(usize, &mut Vec<usize>)) -> Vec<Set> {
    let mut atomic = vec![Vec::new(); history.steps.len()];
    for (from, to) in atomics::edges(history) {
        atomic[to].push(from);
    }
    before_or_at(history.steps.len(), |target, edges| {
        edges.extend(&atomic[target]);
        edges.extend((0..target).filter(|&i| is_edge(&history.steps[i], &history.steps[target])));
        more(target, edges);
    })
}

/// Whether a row of the table of edges orders `from`, earlier in the trace, before `to`. Rows about atomics are not included.
fn is_edge(from: &Step, to: &Step) -> bool {
    let thread_order = from.thread() == to.thread();
    let fork = from.forks() == Some(to.thread());
    let join = match to.event.action() {
        Action::Join(child) => from.thread() == child || from.forks() == Some(child),
        _ => false,
    };
    let lock = match (from.releases(), to.acquires()) {
        (Some(released), Some(acquired)) => released.excludes(acquired),
        _ => false,
    };
    let object = match (from.event.action(), to.event.action()) {
        (Action::Post(posted), Action::Wait(awaited)) => posted == awaited,
        _ => false,
    };
    thread_order || fork || join || lock || object
}

//! Races by optimistic sync-reversal: reorderings that keep the order of the trace, except that sections left open come
//! last.
//!
//! **Source.** Shi, Mathur and Pavlogiannis, *Optimistic Prediction of Synchronization-Reversal Data Races*, ICSE 2024, as
//! `docs/semantics.md` states it for whole traces. It differs in one point: [`optimistic_races`] does not end
//! sections of locks that only one thread takes. [`published_optimistic_races`] does, and finds fewer races.

use std::collections::BTreeSet;

use overtake_trace::{EventIndex, Trace};

use crate::Pair;
use crate::history::{History, Step};
use crate::set::Set;
use crate::sync_preserving::Closures;

/// The conflicting pairs that are enabled together after a reordering of this kind.
pub fn optimistic_races(trace: &Trace) -> BTreeSet<Pair> {
    races(trace, is_shared)
}

/// The same as published: every section that can be ended is ended, whoever takes its lock.
pub fn published_optimistic_races(trace: &Trace) -> BTreeSet<Pair> {
    races(trace, |_, _| true)
}

fn races(trace: &Trace, is_ended: Ends) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let closures = Closures::new(&history);
    history.races(|first, second| schedule(&history, &closures, is_ended, first, second).is_some())
}

/// Whether the section that the acquire at a position begins is ended if that is possible.
type Ends = fn(&History, usize) -> bool;

/// The reordering after which two accesses are enabled together, if there is one.
///
/// # Panics
/// If one of the two is not an access of the trace.
pub fn optimistic_schedule(trace: &Trace, first: EventIndex, second: EventIndex) -> Option<Vec<EventIndex>> {
    let history = History::new(trace);
    let [first, second] = [first, second].map(|index| history.access_at(index).expect("an access"));
    let order = schedule(&history, &Closures::new(&history), is_shared, first, second)?;
    Some(order.into_iter().map(|at| history.steps[at].index).collect())
}

fn schedule(
    history: &History,
    closures: &Closures,
    is_ended: Ends,
    first: usize,
    second: usize,
) -> Option<Vec<usize>> {
    let mut chosen = closures.thread_and_reads(history.before_both(first, second));
    let mut racing = Set::new(history.steps.len());
    racing.insert(first);
    racing.insert(second);
    let count = history.steps.len();
    let end_to_add = |chosen: &Set| {
        (0..count)
            .filter(|&at| chosen.contains(at) && is_ended(history, at))
            .filter_map(|at| history.end_of_section(at))
            .find(|&end| !chosen.contains(end) && !closures.needed[end].meets(&racing))
    };
    while let Some(end) = end_to_add(&chosen) {
        chosen.union(&closures.needed[end]);
    }
    if chosen.meets(&racing) {
        return None;
    }
    let chosen: Vec<usize> = (0..count).filter(|&at| chosen.contains(at)).collect();
    linearise(history, closures, &chosen)
}

/// Whether another thread acquires the lock of an event, too.
fn is_shared(history: &History, at: usize) -> bool {
    let step = &history.steps[at];
    let is_other_user = |other: &Step| {
        let locks = step.acquires().zip(other.acquires());
        other.thread() != step.thread() && locks.is_some_and(|(one, other)| one.lock == other.lock)
    };
    history.steps.iter().any(is_other_user)
}

/// The chosen events in an order that respects every edge. None if there is no such order.
fn linearise(history: &History, closures: &Closures, chosen: &[usize]) -> Option<Vec<usize>> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < chosen.len() {
        let is_free = |&&at: &&usize| {
            !order.contains(&at)
                && chosen.iter().all(|&other| {
                    order.contains(&other) || other == at || !is_before(history, closures, chosen, other, at)
                })
        };
        order.push(*chosen.iter().find(is_free)?);
    }
    Some(order)
}

/// Whether `from` must precede `to`, both chosen.
fn is_before(history: &History, closures: &Closures, chosen: &[usize], from: usize, to: usize) -> bool {
    let needed = from != to && closures.needed[to].contains(from);
    let (one, other) = (&history.steps[from], &history.steps[to]);
    let conflict = one.touches().any(|a| other.touches().any(|b| a.var == b.var && (a.writes || b.writes)));
    needed || (from < to && conflict) || is_before_by_lock(history, chosen, from, to)
}

/// Sections that exclude each other: complete ones keep their order, open ones come last.
fn is_before_by_lock(history: &History, chosen: &[usize], from: usize, to: usize) -> bool {
    let Some(acquired) = history.steps[to].acquires() else { return false };
    let end_inside = |at| history.end_of_section(at).is_some_and(|end| chosen.contains(&end));
    if history.steps[from].acquires().is_some_and(|open| open.excludes(acquired))
        && !end_inside(from)
        && !end_inside(to)
    {
        return from != to; // Both stay open: each before the other, so there is no order.
    }
    let released = history.steps[from].releases();
    let excludes = released.is_some_and(|released| released.excludes(acquired));
    excludes && (from < to || !end_inside(to)) && history.end_of_section(to) != Some(from)
}

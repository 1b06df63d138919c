//! Weak causal precedence: the smallest relation that satisfies three rules, as a fixpoint.
//!
//! **Source.** Kini, Mathur and Viswanathan, *Dynamic Race Prediction in Linear Time*, PLDI 2017; extended to all operations
//! as `docs/semantics.md` says.

use std::collections::BTreeSet;

use overtake_trace::{Action, Trace};

use crate::Pair;
use crate::happens_before::happens_before;
use crate::history::{History, Step};
use crate::set::Set;

/// The conflicting pairs that the weak order does not order.
pub fn weak_order_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let weakly_before = weak_order(&history);
    history.races(|first, second| !weakly_before[second].contains(first))
}

/// What is weakly before each position.
fn weak_order(history: &History) -> Vec<Set> {
    let count = history.steps.len();
    let sections = sections(history);
    let mut edges: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (to, edges) in edges.iter_mut().enumerate() {
        edges.extend((0..to).filter(|&from| is_hard(&history.steps[from], &history.steps[to])));
        edges.extend(rule_a(history, &sections, to));
    }
    let happens = happens_before(history, |to, more| {
        more.extend((0..to).filter(|&from| is_hard(&history.steps[from], &history.steps[to])));
    });
    loop {
        let weak = compose(&happens, &edges);
        let before: usize = edges.iter().map(Vec::len).sum();
        for (first, second) in excluding(history, &sections) {
            if let (Some(from), Some(to)) = (first.release, second.release)
                && weak[to].contains(first.acquire)
                && !edges[to].contains(&from)
            {
                edges[to].push(from); // rule (b)
            }
        }
        if edges.iter().map(Vec::len).sum::<usize>() == before {
            return weak;
        }
    }
}

/// Closes edges, listed by target, under composition with happens-before on both sides.
fn compose(happens: &[Set], edges: &[Vec<usize>]) -> Vec<Set> {
    let count = happens.len();
    let mut weak: Vec<Set> = Vec::with_capacity(count);
    for to in 0..count {
        let mut row = Set::new(count);
        for &from in &edges[to] {
            row.union(&happens[from]);
        }
        for via in (0..to).filter(|&via| happens[to].contains(via)) {
            row.union(&weak[via]);
        }
        weak.push(row);
    }
    weak
}

/// Order between threads that no reordering can change: fork, join, post and wait, and atomic accesses to one variable of which one
/// writes. A fork comes before a join of the same child, even if the child has no events.
fn is_hard(from: &Step, to: &Step) -> bool {
    if let Action::Join(child) = to.event.action()
        && from.forks() == Some(child)
    {
        return true;
    }
    if from.thread() == to.thread() {
        return false;
    }
    let fork = from.forks() == Some(to.thread());
    let awaited = match to.event.action() {
        Action::Join(child) => from.thread() == child,
        Action::Wait(object) => from.event.action() == Action::Post(object),
        _ => false,
    };
    let atomic = from
        .touches()
        .filter(|touch| touch.atomic)
        .any(|a| to.touches().filter(|touch| touch.atomic).any(|b| a.var == b.var && (a.writes || b.writes)));
    fork || awaited || atomic
}

#[derive(Clone, Copy)]
struct Section {
    acquire: usize,
    release: Option<usize>,
}

fn sections(history: &History) -> Vec<Section> {
    let acquires = (0..history.steps.len()).filter(|&at| history.steps[at].acquires().is_some());
    acquires.map(|acquire| Section { acquire, release: history.end_of_section(acquire) }).collect()
}

/// The pairs of sections of different threads that exclude each other, in trace order.
fn excluding<'a>(
    history: &'a History,
    sections: &'a [Section],
) -> impl Iterator<Item = (Section, Section)> + 'a {
    let excludes = |one: &Section, other: &Section| {
        let [a, b] = [one, other].map(|section| &history.steps[section.acquire]);
        a.thread() != b.thread() && a.acquires().zip(b.acquires()).is_some_and(|(a, b)| a.excludes(b))
    };
    sections.iter().enumerate().flat_map(move |(rank, &second)| {
        sections[..rank]
            .iter()
            .copied()
            .filter(move |first| excludes(first, &second))
            .map(move |first| (first, second))
    })
}

/// The releases of earlier sections that contain a conflict with the access at `to`, which is in a section of the same lock.
fn rule_a(history: &History, sections: &[Section], to: usize) -> Vec<usize> {
    let conflicts = |from: usize| {
        history.steps[from]
            .touches()
            .any(|a| history.steps[to].touches().any(|b| a.var == b.var && (a.writes || b.writes)))
    };
    let is_inside = |section: &Section, at: usize| {
        history.steps[section.acquire].thread() == history.steps[at].thread()
            && section.acquire < at
            && section.release.is_none_or(|end| at < end)
    };
    excluding(history, sections)
        .filter(|(_, second)| is_inside(second, to))
        .filter(|(first, _)| (first.acquire..to).any(|from| is_inside(first, from) && conflicts(from)))
        .filter_map(|(first, _)| first.release)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_of_one_lock_with_a_conflict_are_ordered() {
        let ordered = "T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x; T1 rel l";
        assert!(weak_order_races(&crate::trace(ordered)).is_empty());
        let apart = "T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x";
        assert_eq!(weak_order_races(&crate::trace(apart)).len(), 1);
    }
}

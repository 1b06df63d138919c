//! Sync-preserving races by closed sets of events.
//!
//! **Source.** Mathur, Pavlogiannis and Viswanathan, *Optimal Prediction of Synchronization-Preserving Races*, POPL 2021.
//! The definition by reorderings is in `enumeration`; that both agree is a test.

use std::collections::BTreeSet;

use overtake_trace::{EventIndex, Trace};

use crate::Pair;
use crate::history::History;
use crate::set::{Set, before_or_at};

/// The conflicting pairs whose first event is not in the SP-closure of what directly precedes the two.
pub fn sync_preserving_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let closures = Closures::new(&history);
    history.races(|first, second| {
        let generators = history.before_both(first, second);
        !closures.sync_preserving(generators).contains(first)
    })
}

/// The SP-closure of what directly precedes two accesses, in trace order: if they are a sync-preserving race, this is a
/// sync-preserving correct reordering after which both are enabled.
///
/// # Panics
/// If one of the two is not an access of the trace.
pub fn sync_preserving_ideal(trace: &Trace, first: EventIndex, second: EventIndex) -> Vec<EventIndex> {
    let history = History::new(trace);
    let [first, second] = [first, second].map(|index| history.access_at(index).expect("an access"));
    let generators = history.before_both(first, second);
    let ideal = Closures::new(&history).sync_preserving(generators);
    (0..history.steps.len()).filter(|&at| ideal.contains(at)).map(|at| history.steps[at].index).collect()
}

/// The closures of one history.
pub(crate) struct Closures {
    /// The TL-closure of each event: what it cannot run without.
    pub(crate) needed: Vec<Set>,
    /// Pairs of acquires that must keep their order, with the release that ends the first one's section.
    ordered_acquires: Vec<OrderedAcquires>,
}

/// Two acquires that must keep their order, and the release that ends the first one's section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrderedAcquires {
    pub(crate) first: usize,
    pub(crate) second: usize,
    pub(crate) release: usize,
}

impl Closures {
    pub(crate) fn new(history: &History) -> Closures {
        let needed = before_or_at(history.steps.len(), |at, edges| {
            edges.extend(history.previous(at));
            edges.extend(history.awaited(at));
            edges.extend(history.seen_writes(at));
        });
        Closures { needed, ordered_acquires: ordered_acquires(history) }
    }

    /// The smallest TL-closed set that contains `generators`.
    pub(crate) fn thread_and_reads(&self, generators: impl Iterator<Item = usize>) -> Set {
        let mut closed = Set::new(self.needed.len());
        for event in generators {
            closed.union(&self.needed[event]);
        }
        closed
    }

    /// The smallest SP-closed set that contains `generators`.
    pub(crate) fn sync_preserving(&self, generators: impl Iterator<Item = usize>) -> Set {
        let mut closed = self.thread_and_reads(generators);
        loop {
            let missing = self.ordered_acquires.iter().find(|pair| {
                closed.contains(pair.first) && closed.contains(pair.second) && !closed.contains(pair.release)
            });
            match missing {
                Some(pair) => closed.union(&self.needed[pair.release]),
                None => return closed,
            }
        }
    }
}

pub(crate) fn ordered_acquires(history: &History) -> Vec<OrderedAcquires> {
    let acquires: Vec<_> =
        history.steps.iter().enumerate().filter_map(|(at, step)| Some((at, step.acquires()?))).collect();
    let mut pairs = Vec::new();
    for (rank, &(second, second_use)) in acquires.iter().enumerate() {
        for &(first, first_use) in &acquires[..rank] {
            if first_use.excludes(second_use) {
                let release =
                    history.end_of_section(first).expect("a section ends before one it excludes begins");
                pairs.push(OrderedAcquires { first, second, release });
            }
        }
    }
    pairs
}

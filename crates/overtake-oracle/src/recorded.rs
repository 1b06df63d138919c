//! Races of recordings: traces in which only the order of synchronisation is known.
//!
//! A read needs all of its sources: every write that it may have seen, whatever the real order of accesses was.

use std::collections::BTreeSet;

use overtake_trace::{Action, Event, Op, Trace};

use crate::Pair;
use crate::happens_before::happens_before;
use crate::history::History;
use crate::set::Set;
use crate::sync_preserving::ordered_acquires;

/// The sync-preserving races that a recording proves. The SP-closure, over all sources of reads, of what directly precedes the two
/// accesses contains neither of them.
pub fn recorded_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let known = Known::new(&history);
    let acquires = ordered_acquires(&history);
    let races = proved(
        &history,
        |event, needed| {
            needed.extend(history.previous(event));
            needed.extend(history.awaited(event));
            needed.extend(known.sources(event));
        },
        |closed| {
            let missing = acquires.iter().find(|pair| {
                closed.contains(pair.first) && closed.contains(pair.second) && !closed.contains(pair.release)
            });
            missing.map(|pair| pair.release)
        },
    );
    // Who uses a block got it from who allocates it, by means that a recording need not show.
    let handed_over = handed_over(&history, &known);
    races.difference(&handed_over).copied().collect()
}

/// Pairs of an allocation and an access that happens-before orders.
fn handed_over(history: &History, known: &Known<'_>) -> BTreeSet<Pair> {
    history.races(|first, second| {
        history.steps[first].event.op() == Op::Alloc && known.before[second].contains(first)
    })
}

/// The conflicting pairs of a recording that are no predictions, because one of the two allocates what the other one uses, and
/// happens-before orders them.
pub fn handed_over_pairs(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    handed_over(&history, &Known::new(&history))
}

/// The schedulable races that a recording proves: as [`recorded_races`], with happens-before instead of the order that
/// sync-preserving reorderings keep.
pub fn recorded_schedulable_races(trace: &Trace) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let known = Known::new(&history);
    proved(
        &history,
        |event, needed| {
            needed.extend(history.previous(event));
            needed.extend(
                (0..history.steps.len())
                    .filter(|&before| before != event && known.before[event].contains(before)),
            );
            needed.extend(known.sources(event));
        },
        |_| None,
    )
}

/// The conflicting pairs for which the closure of what directly precedes the two contains neither of them.
fn proved(
    history: &History,
    mut needs: impl FnMut(usize, &mut Vec<usize>),
    missing: impl Fn(&Set) -> Option<usize>,
) -> BTreeSet<Pair> {
    let needs: Vec<Vec<usize>> = (0..history.steps.len())
        .map(|event| {
            let mut needed = Vec::new();
            needs(event, &mut needed);
            needed
        })
        .collect();
    history.races(|first, second| {
        let mut closed = Set::new(history.steps.len());
        let mut pending: Vec<usize> = history.before_both(first, second).collect();
        loop {
            while let Some(event) = pending.pop() {
                if !closed.contains(event) {
                    closed.insert(event);
                    pending.extend(&needs[event]);
                }
            }
            match missing(&closed) {
                Some(event) => pending.push(event),
                None => return !closed.contains(first) && !closed.contains(second),
            }
        }
    })
}

/// What is known of the order of a recording.
struct Known<'a> {
    history: &'a History,
    /// What happens before or at each position.
    before: Vec<Set>,
}

impl Known<'_> {
    fn new(history: &History) -> Known<'_> {
        Known { history, before: happens_before(history, |_, _| {}) }
    }

    /// Whether the access `first` to a variable is known to come before the access `second` to it.
    fn is_before(&self, first: usize, second: usize) -> bool {
        let atomic = |at: usize| self.history.steps[at].atomic_variable();
        let both_atomic = atomic(first).is_some() && atomic(first) == atomic(second);
        first != second && (self.before[second].contains(first) || both_atomic && first < second)
    }

    /// The writes that an event may have seen.
    fn sources(&self, event: usize) -> Vec<usize> {
        let mut sources = Vec::new();
        for touch in self.history.steps[event].touches().filter(|touch| touch.reads) {
            let writes: Vec<usize> = (0..self.history.steps.len())
                .filter(|&at| {
                    self.history.steps[at].touches().any(|other| other.var == touch.var && other.writes)
                })
                .filter(|&at| at != event)
                .collect();
            sources.extend(writes.iter().copied().filter(|&write| {
                let is_hidden =
                    writes.iter().any(|&other| self.is_before(write, other) && self.is_before(other, event));
                !self.is_before(event, write) && !is_hidden
            }));
        }
        sources
    }
}

/// Another order of the same run that a recorder may produce. Synchronisation and allocations keep their order; an access is anywhere
/// between its neighbours in its thread that synchronise, on the same side of every allocation. Each event comes with its index in
/// `trace`.
pub fn recorded_order(trace: &Trace, seed: u64) -> (Trace, Vec<usize>) {
    let mut random = seed | 1;
    let mut below = |bound: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % bound.max(1)
    };
    let is_plain = |event: &Event| matches!(event.op(), Op::Read | Op::Write);
    let events = &trace.events;
    // Each event gets a slot between those of its neighbours that synchronise. Equal slots are in thread order.
    let mut slots = vec![0_u64; events.len()];
    for thread in events.iter().map(Event::thread).collect::<BTreeSet<_>>() {
        let own: Vec<usize> = (0..events.len()).filter(|&at| events[at].thread() == thread).collect();
        let is_anchor = |&at: &usize| match events[at].action() {
            Action::Fork(child) | Action::Join(child) if child == thread => true,
            // An allocation decides in which block an address is.
            Action::Alloc(_) => true,
            _ => events[at].thread() == thread && !is_plain(&events[at]),
        };
        let anchors: Vec<usize> = (0..events.len()).filter(is_anchor).collect();
        let slot = |at: usize| 1000 * (at as u64 + 1);
        let mut low = 0;
        for &at in &own {
            if !is_plain(&events[at]) {
                slots[at] = slot(at);
            } else {
                let next = anchors.partition_point(|&anchor| anchor < at);
                let high = slot(anchors.get(next).copied().unwrap_or(events.len()));
                low = low.max(next.checked_sub(1).map_or(0, |before| slot(anchors[before])));
                // Early slots are more likely, so that several accesses in a row find room.
                let room = (high - low).saturating_sub(2) / (1 + below(3));
                slots[at] = (low + 1 + below(room)).min(high - 1);
            }
            low = slots[at];
        }
    }
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&at| (slots[at], at));
    let mut recorded = trace.clone();
    recorded.events = order.iter().map(|&at| events[at]).collect();
    (recorded, order)
}

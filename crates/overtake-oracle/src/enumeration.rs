//! Races and deadlocks by enumerating reorderings, for traces of about 16 events.
//!
//! A search through the states that correct reorderings reach, one event at a time. What may come next depends on the
//! events done so far, which are a prefix of each thread, and on the last write of each variable. So two
//! reorderings that agree on these are one state, and every state is visited once. Locks add nothing to a state: the events done
//! determine who holds which lock, and which acquire of a lock is the latest in the trace.

use std::collections::{BTreeSet, HashSet};

use overtake_trace::{EventIndex, Id, Trace, VarId};

use crate::Pair;
use crate::deadlocks::{Deadlock, wait_cycles};
use crate::history::History;

/// The conflicting pairs that are enabled together after some correct reordering.
pub fn predictable_races(trace: &Trace) -> BTreeSet<Pair> {
    Search::new(trace, Reorderings::Correct).races()
}

/// Whether two conflicting accesses are enabled together after some correct reordering. For longer traces than [`predictable_races`]: only reorderings without the two are
/// looked at, and only until one is found.
pub fn is_predictable(trace: &Trace, first: EventIndex, second: EventIndex) -> bool {
    let search = Search::new(trace, Reorderings::Correct);
    let positions: Vec<_> = [first, second].iter().filter_map(|&at| search.history.access_at(at)).collect();
    let mut races = BTreeSet::new();
    let is_pair = |pair: &Pair| (pair.first, pair.second) == (first, second);
    search.visit(&positions, |state| {
        if positions.iter().all(|event| search.enabled(state).any(|at| at == *event)) {
            search.collect_races(state, &mut races);
        }
        !races.iter().any(is_pair)
    });
    races.iter().any(is_pair)
}

/// The conflicting pairs that are enabled together after some sync-preserving correct reordering.
pub fn sync_preserving_races_by_enumeration(trace: &Trace) -> BTreeSet<Pair> {
    Search::new(trace, Reorderings::SyncPreserving).races()
}

/// The cycles of threads that wait for each other after some correct reordering; see [`Deadlock`] for how they are written.
pub fn predictable_deadlocks(trace: &Trace) -> BTreeSet<Deadlock> {
    Search::new(trace, Reorderings::Correct).deadlocks()
}

/// The cycles of threads that wait for each other after some sync-preserving correct reordering.
pub fn sync_preserving_deadlocks_by_enumeration(trace: &Trace) -> BTreeSet<Deadlock> {
    Search::new(trace, Reorderings::SyncPreserving).deadlocks()
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Reorderings {
    Correct,
    SyncPreserving,
}

/// What distinguishes reorderings.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    /// How many events of each thread are done.
    done: Vec<u32>,
    /// The position of the write that each variable holds.
    holds: Vec<Option<u32>>,
}

struct Search {
    history: History,
    which: Reorderings,
    /// Positions of each thread's events.
    threads: Vec<Vec<usize>>,
    /// For each position, which event of its thread it is.
    rank: Vec<u32>,
    /// For each position, what must be done before it.
    needed: Vec<Vec<usize>>,
    /// For each position, what must be done for it to be next in its thread.
    previous: Vec<Vec<usize>>,
    /// For each acquire, the end of its section.
    release: Vec<Option<usize>>,
    /// For each position, the variables it reads and the writes it sees.
    sees: Vec<Vec<(VarId, Option<u32>)>>,
}

impl Search {
    fn new(trace: &Trace, which: Reorderings) -> Search {
        let history = History::new(trace);
        let mut threads = vec![Vec::new(); history.symbols.threads.len()];
        let mut rank = Vec::new();
        for (at, step) in history.steps.iter().enumerate() {
            let thread: &mut Vec<usize> = &mut threads[step.thread().index()];
            rank.push(thread.len() as u32);
            thread.push(at);
        }
        let positions = 0..history.steps.len();
        let previous: Vec<Vec<_>> = positions.clone().map(|at| history.previous(at).collect()).collect();
        let needed =
            positions.clone().map(|at| history.previous(at).chain(history.awaited(at)).collect()).collect();
        let release = positions.clone().map(|at| history.end_of_section(at)).collect();
        let sees = positions
            .map(|at| {
                let reads = history.steps[at].touches().filter(|touch| touch.reads);
                reads
                    .map(|touch| (touch.var, history.last_write(at, touch.var).map(|at| at as u32)))
                    .collect()
            })
            .collect();
        Search { history, which, threads, rank, needed, previous, release, sees }
    }

    fn races(&self) -> BTreeSet<Pair> {
        let mut races = BTreeSet::new();
        self.visit(&[], |state| {
            self.collect_races(state, &mut races);
            true
        });
        races
    }

    fn deadlocks(&self) -> BTreeSet<Deadlock> {
        let mut deadlocks = BTreeSet::new();
        self.visit(&[], |state| {
            let next: Vec<_> = self.enabled(state).collect();
            deadlocks.extend(wait_cycles(&self.history, &next));
            true
        });
        deadlocks
    }

    /// Calls `look` with every state that a reordering without some events reaches, as long as it wants more.
    fn visit(&self, left_out: &[usize], mut look: impl FnMut(&State) -> bool) {
        let start = State {
            done: vec![0; self.threads.len()],
            holds: vec![None; self.history.symbols.variables.len()],
        };
        let mut seen = HashSet::from([start.clone()]);
        let mut agenda = vec![start];
        while let Some(state) = agenda.pop() {
            if !look(&state) {
                return;
            }
            let next = self.next_in_threads(&state).filter(|event| !left_out.contains(event));
            for event in next.filter(|&event| self.may_run(event, &state)) {
                let after = self.after(event, &state);
                if seen.insert(after.clone()) {
                    agenda.push(after);
                }
            }
        }
    }

    /// The events that are enabled.
    fn enabled(&self, state: &State) -> impl Iterator<Item = usize> {
        let is_enabled = |&event: &usize| self.previous[event].iter().all(|&at| self.is_done(at, state));
        self.next_in_threads(state).filter(is_enabled)
    }

    /// Adds the conflicting pairs among the events that are enabled.
    fn collect_races(&self, state: &State, races: &mut BTreeSet<Pair>) {
        let enabled: Vec<_> = self.enabled(state).collect();
        for &first in &enabled {
            for &second in enabled.iter().filter(|&&second| second > first) {
                let allocation = self.history.allocation(first);
                if allocation.is_some_and(|at| !self.is_done(at, state)) {
                    continue;
                }
                for touch in self.history.steps[second].touches() {
                    if self.history.conflict(first, second, touch.var) {
                        races.insert(self.history.pair(first, second, touch.var));
                    }
                }
            }
        }
    }

    /// The next event of each thread that has one.
    fn next_in_threads(&self, state: &State) -> impl Iterator<Item = usize> {
        let nexts = self.threads.iter().zip(&state.done);
        let nexts: Vec<_> = nexts.filter_map(|(events, &done)| events.get(done as usize).copied()).collect();
        nexts.into_iter()
    }

    fn is_done(&self, at: usize, state: &State) -> bool {
        self.rank[at] < state.done[self.history.steps[at].thread().index()]
    }

    /// Whether the reordering may continue with `event`, the next one of its thread.
    fn may_run(&self, event: usize, state: &State) -> bool {
        self.needed[event].iter().all(|&at| self.is_done(at, state))
            && self.sees[event].iter().all(|&(var, write)| state.holds[var.index()] == write)
            && self.locks_allow(event, state)
            && (self.which == Reorderings::Correct || self.keeps_order(event, state))
    }

    /// Whether no open section excludes the one that `event` begins.
    fn locks_allow(&self, event: usize, state: &State) -> bool {
        let Some(wanted) = self.history.steps[event].acquires() else { return true };
        self.history.steps.iter().enumerate().all(|(at, step)| {
            let is_open = self.is_done(at, state)
                && self.release[at].is_none_or(|release| !self.is_done(release, state));
            !(is_open && step.acquires().is_some_and(|held| held.excludes(wanted)))
        })
    }

    /// Whether nothing that was done comes later in the trace than `event` and must keep its order with it: an acquire of its lock,
    /// unless both are shared, or an atomic access to its variable.
    fn keeps_order(&self, event: usize, state: &State) -> bool {
        let steps = &self.history.steps;
        !(event + 1..steps.len()).filter(|&later| self.is_done(later, state)).any(|later| {
            let acquires = steps[event].acquires().zip(steps[later].acquires());
            let atomics = steps[event].atomic_variable().zip(steps[later].atomic_variable());
            acquires.is_some_and(|(a, b)| a.excludes(b)) || atomics.is_some_and(|(a, b)| a == b)
        })
    }

    fn after(&self, event: usize, state: &State) -> State {
        let step = &self.history.steps[event];
        let mut after = state.clone();
        after.done[step.thread().index()] += 1;
        for touch in step.touches().filter(|touch| touch.writes) {
            after.holds[touch.var.index()] = Some(event as u32);
        }
        after
    }
}

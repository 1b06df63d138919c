//! Locking discipline against the definitions.

use std::collections::BTreeSet;
use std::fmt::Write;

use overtake_oracle::random::Shape;
use overtake_oracle::{
    History, LockUse, Pair, Touch, for_each_random_trace, lock_cover_races, lock_set_variables,
    open_cover_races, same, second_events, trace, variables,
};
use overtake_trace::{LockId, ThreadId, Trace, VarId};

use crate::Race;
use crate::passes::Analysis;
use crate::settings::Options;
use crate::testing::run;

const TRACES: u64 = 100_000;

/// Every operation, traces that need repairs, and many locks held at once.
fn shapes(events: u32) -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(events);
    shapes.push(Shape::ill_formed().with_events(events));
    shapes.push(Shape { locks: 5, variables: 1, ..Shape::shared_locks() }.with_events(60));
    shapes
}

fn reported(analysis: &Analysis) -> BTreeSet<Pair> {
    let pair = |race: &Race| Pair { first: race.first.at.index, second: race.second.at.index, var: race.var };
    analysis.findings().groups().iter().map(|group| pair(&group.example)).collect()
}

#[test]
fn lock_set_reports_each_unprotected_variable_when_it_becomes_one() {
    for_each_random_trace(&shapes(30), TRACES, |trace| {
        let analysis = run("lock-set", &Options::default(), trace);
        same("variables", lock_set_variables(trace), analysis.findings().racy_variables())?;
        same("pairs", first_reports(trace, by_definition), reported(&analysis))
    });
}

#[test]
fn eraser_goes_through_its_states() {
    let options = Options { eraser: true, ..Options::default() };
    for_each_random_trace(&shapes(30), TRACES, |trace| {
        let analysis = run("lock-set", &options, trace);
        same("pairs", first_reports(trace, by_eraser), reported(&analysis))
    });
}

/// An access to one variable, with what protects it.
struct Protected {
    position: usize,
    thread: ThreadId,
    touch: Touch,
    /// Locks held in a mode that protects; `None` is the variable's own lock.
    locks: BTreeSet<Option<LockId>>,
}

/// The pair to report per variable: where `is_unprotected` first holds of the accesses so far and a pair conflicts.
fn first_reports(trace: &Trace, is_unprotected: fn(&[Protected]) -> bool) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let conflicts: Vec<_> = history.conflicts().collect();
    let vars: BTreeSet<VarId> = conflicts.iter().map(|&(_, _, var)| var).collect();
    let report = |&var: &VarId| {
        let accesses = accesses(&history, var);
        let racy = (0..accesses.len()).find_map(|last| {
            let position = accesses[last].position;
            let known = conflicts.iter().filter(|&&(_, second, of)| of == var && second <= position);
            let latest = known.max_by_key(|&&(first, second, _)| (second, first))?;
            is_unprotected(&accesses[..=last]).then_some(*latest)
        });
        let (first, second, var) = racy?;
        Some(Pair { first: history.steps[first].index, second: history.steps[second].index, var })
    };
    vars.iter().filter_map(report).collect()
}

fn accesses(history: &History, var: VarId) -> Vec<Protected> {
    let mut accesses = Vec::new();
    for (position, step) in history.steps.iter().enumerate() {
        let mut held: Vec<LockUse> = Vec::new();
        for earlier in history.steps[..position].iter().filter(|earlier| earlier.thread() == step.thread()) {
            held.extend(earlier.acquires());
            held.retain(|&lock| Some(lock) != earlier.releases());
        }
        for touch in step.touches().filter(|touch| touch.var == var) {
            let protecting = held.iter().filter(|lock| !(touch.writes && lock.shared));
            let own = touch.atomic.then_some(None);
            let locks = protecting.map(|lock| Some(lock.lock)).chain(own).collect();
            accesses.push(Protected { position, thread: step.thread(), touch, locks });
        }
    }
    accesses
}

fn by_definition(accesses: &[Protected]) -> bool {
    let all = accesses.iter().map(|access| access.locks.clone());
    all.reduce(|common, locks| &common & &locks).is_some_and(|common| common.is_empty())
}

/// The state machine, word by word.
fn by_eraser(accesses: &[Protected]) -> bool {
    enum State {
        Virgin,
        Exclusive(ThreadId),
        Shared,
        SharedModified,
    }
    let mut state = State::Virgin;
    let mut candidates: Option<BTreeSet<Option<LockId>>> = None;
    for access in accesses {
        state = match state {
            State::Virgin => State::Exclusive(access.thread),
            State::Exclusive(thread) if thread == access.thread => State::Exclusive(thread),
            State::SharedModified => State::SharedModified,
            State::Exclusive(_) | State::Shared if access.touch.writes => State::SharedModified,
            State::Exclusive(_) | State::Shared => State::Shared,
        };
        if matches!(state, State::Shared | State::SharedModified) {
            candidates = Some(match candidates {
                None => access.locks.clone(),
                Some(before) => &before & &access.locks,
            });
        }
    }
    matches!(state, State::SharedModified) && candidates.is_some_and(|locks| locks.is_empty())
}

#[test]
fn lock_cover_finds_exactly_the_second_events() {
    for_each_random_trace(&shapes(30), TRACES, |trace| {
        let expected = lock_cover_races(trace);
        let analysis = run("lock-cover", &Options::default(), trace);
        same("second events", second_events(&expected), analysis.findings().racy_events())?;
        same("variables", variables(&expected), analysis.findings().racy_variables())?;
        same("pairs that do not race", reported(&analysis).difference(&expected).copied(), [])
    });
}

#[test]
fn lock_cover_without_what_fork_and_join_order() {
    let options = Options { unforked: true, ..Options::default() };
    for_each_random_trace(&shapes(30), TRACES, |trace| {
        let expected = open_cover_races(trace);
        let analysis = run("lock-cover", &options, trace);
        same("second events", second_events(&expected), analysis.findings().racy_events())?;
        same("pairs that do not race", reported(&analysis).difference(&expected).copied(), [])
    });
}

/// Some vectors of bits, other ones for each seed.
fn vectors(seed: u64, count: usize, dimension: usize) -> Vec<Vec<bool>> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut bit = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state >> 61 < 4
    };
    (0..count).map(|_| (0..dimension).map(|_| bit()).collect()).collect()
}

fn are_orthogonal(a: &[bool], b: &[bool]) -> bool {
    a.iter().zip(b).all(|(a, b)| !(a & b))
}

/// Writes `before`, the acquires of all locks whose bit is set, `inside`, and the releases.
fn locked(text: &mut String, thread: &str, bits: &[bool], inside: &str) {
    let held = || bits.iter().enumerate().filter(|&(_, &bit)| bit).map(|(lock, _)| lock);
    held().for_each(|lock| write!(text, "{thread} acq l{lock};").unwrap());
    text.push_str(inside);
    held().for_each(|lock| write!(text, "{thread} rel l{lock};").unwrap());
}

#[test]
fn orthogonal_vectors_are_lock_cover_races() {
    for seed in 0..200 {
        let (a, b) = (vectors(2 * seed, 12, 7), vectors(2 * seed + 1, 12, 7));
        let mut text = String::new();
        a.iter().for_each(|a| locked(&mut text, "T0", a, "T0 w z;"));
        b.iter().for_each(|b| locked(&mut text, "T1", b, "T1 w z;"));
        let expected = b.iter().filter(|b| a.iter().any(|a| are_orthogonal(a, b))).count();
        let analysis = run("lock-cover", &Options::default(), &trace(&text));
        assert_eq!(analysis.findings().racy_events().len(), expected, "seed {seed}");
    }
}

#[test]
fn many_combinations_are_answered_from_memory() {
    for seed in 0..20 {
        let (a, b) = (vectors(2 * seed, 150, 10), vectors(2 * seed + 1, 40, 10));
        let mut text = String::new();
        a.iter().for_each(|a| locked(&mut text, "T0", a, "T0 w z;"));
        for b in b.iter().chain(&b) {
            locked(&mut text, "T1", b, "T1 r z;");
            locked(&mut text, "T2", b, "T2 r z;");
        }
        let expected = b.iter().filter(|b| a.iter().any(|a| are_orthogonal(a, b))).count();
        let analysis = run("lock-cover", &Options::default(), &trace(&text));
        assert_eq!(analysis.findings().racy_events().len(), 4 * expected, "seed {seed}");
    }
}

#[test]
fn hitting_vectors_are_lock_set_races() {
    for seed in 0..200 {
        let (count, dimension) = (8, 5);
        let (x, y) = (vectors(2 * seed, count, dimension), vectors(2 * seed + 1, count, dimension));
        let mut text = String::new();
        let writes: String = (0..count).map(|k| format!("T0 w z{k};")).collect();
        locked(&mut text, "T0", &vec![true; count], &writes);
        for j in 0..dimension {
            let thread = format!("T{}", j + 1);
            let held: Vec<bool> = y.iter().map(|y| !y[j]).collect();
            let hit = (0..count).filter(|&k| x[k][j]);
            let writes: String = hit.map(|k| format!("{thread} w z{k};")).collect();
            locked(&mut text, &thread, &held, &writes);
        }
        let trace = trace(&text);
        let analysis = run("lock-set", &Options::default(), &trace);
        let racy: BTreeSet<String> = analysis
            .findings()
            .racy_variables()
            .into_iter()
            .map(|var| trace.symbols.variables.display(var))
            .collect();
        let hits_all = |k: &usize| y.iter().all(|y| !are_orthogonal(&x[*k], y));
        let expected: BTreeSet<String> = (0..count).filter(hits_all).map(|k| format!("z{k}")).collect();
        assert_eq!(racy, expected, "seed {seed}");
    }
}

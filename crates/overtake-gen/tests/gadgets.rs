//! The gadgets' predicates against the definitions, and the golden traces.

#[path = "support/closure.rs"]
mod closure;
mod support;

use std::collections::BTreeSet;
use std::path::Path;

use closure::{lock_cover_pairs, lock_set_variables, sync_preserving_pairs};
use overtake_gen::gadgets::{
    GADGETS, Gadget, Notion, Races, Size, equality_as_printed, equality_sync_preserving, find_gadget,
};
use overtake_gen::{Golden, read_golden};
use overtake_trace::{Action, Block, Checker, Event, EventIndex, LocationId, Trace, VarId};
use support::race_pairs;

fn is_well_formed(trace: &Trace) -> bool {
    let mut block = Block { events: trace.events.clone(), ..Block::default() };
    Checker::strict().check(&mut block, &mut trace.symbols.clone()).is_ok()
}

/// The pairs whose accesses go to a variable.
fn on_variable(pairs: BTreeSet<(usize, usize)>, var: VarId, trace: &Trace) -> BTreeSet<(usize, usize)> {
    let goes_there = |at: usize| {
        let action = trace.events[at].action();
        action == Action::Read(var) || action == Action::Write(var)
    };
    pairs.into_iter().filter(|&(first, _)| goes_there(first)).collect()
}

/// Compares every expectation of a gadget with the definition of its notion. The predictable races include the
/// sync-preserving ones and are included in the lock-cover ones.
fn assert_expected(gadget: &Gadget, what: &str) {
    assert!(is_well_formed(&gadget.trace), "{what}");
    let indexed = |pairs: BTreeSet<(usize, usize)>| -> BTreeSet<(EventIndex, EventIndex)> {
        pairs
            .into_iter()
            .map(|(first, second)| (EventIndex(first as u64), EventIndex(second as u64)))
            .collect()
    };
    for expected in &gadget.expected {
        let pairs = |pairs: BTreeSet<(usize, usize)>| match &expected.races {
            Races::PairsOf(var, _) => Races::PairsOf(*var, indexed(on_variable(pairs, *var, &gadget.trace))),
            _ => Races::Pairs(indexed(pairs)),
        };
        let found = match expected.notion {
            Notion::HappensBefore => pairs(race_pairs(&gadget.trace).into_iter().collect()),
            Notion::SyncPreserving => pairs(sync_preserving_pairs(&gadget.trace)),
            Notion::LockCover => pairs(lock_cover_pairs(&gadget.trace)),
            Notion::LockSet => Races::Variables(lock_set_variables(&gadget.trace)),
            // The tests of detectors compare these with all reorderings.
            Notion::Predictable if matches!(expected.races, Races::PairsOf(..)) => continue,
            Notion::Predictable => {
                assert_eq!(sync_preserving_pairs(&gadget.trace), lock_cover_pairs(&gadget.trace), "{what}");
                Races::Pairs(indexed(sync_preserving_pairs(&gadget.trace)))
            }
        };
        assert_eq!(expected.races, found, "{what}, {}", expected.notion.name());
    }
}

#[test]
fn predicates_are_what_the_definitions_say() {
    for kind in GADGETS {
        for seed in 0..12 {
            for (vectors, dimension) in [(1, 1), (2, 3), (3, 2), (4, 4)] {
                let gadget = kind.build(&Size { vectors, dimension, seed }).expect("possible sizes");
                assert_expected(&gadget, &format!("{} seed {seed}, {vectors} of {dimension}", kind.name));
            }
        }
    }
}

#[test]
fn random_gadgets_have_races_and_non_races() {
    for kind in GADGETS {
        let (mut with, mut possible) = (0, 0);
        for seed in 0..40 {
            let gadget = kind.build(&Size { seed, ..kind.default_size }).expect("possible sizes");
            let hard = if kind.name == "gadget-g7" { 2 } else { 0 };
            let (found, most) = match &gadget.expected[hard].races {
                Races::PairsOf(_, pairs) => (pairs.len(), 1),
                Races::Variables(variables) => (variables.len(), kind.default_size.vectors as usize),
                Races::Pairs(pairs) => {
                    let size = kind.default_size.vectors as usize;
                    // G1 also has all pairs of writes; G5 has one pair for each position, its printed form only one; G6 one for each thing.
                    match kind.name {
                        "gadget-g1" => (pairs.len() - size * (size - 1) / 2, size * size),
                        "gadget-g5" | "gadget-g6" => (pairs.len(), size),
                        "gadget-g5-printed" => (pairs.len(), 1),
                        _ => (pairs.len(), size * size),
                    }
                }
            };
            with += found;
            possible += most;
        }
        let share = with as f64 / possible as f64;
        assert!((0.1..0.9).contains(&share), "{}: {share}", kind.name);
    }
}

#[test]
fn equality_is_exact_for_all_short_strings() {
    for length in 1..=4_u32 {
        for bits in 0..1_u32 << (2 * length) {
            let string =
                |shift: u32| -> Vec<bool> { (0..length).map(|at| bits >> (shift + at) & 1 == 1).collect() };
            let (first, second) = (string(0), string(length));
            assert_expected(&equality_sync_preserving(&first, &second), "g5");
            assert_expected(&equality_as_printed(&first, &second), "g5 as printed");
        }
    }
}

#[test]
fn the_published_equality_gadget_misses_the_pair_of_its_figure() {
    let (first, second) = ([true, false, false, true], [true, false, true, true]);
    let printed = equality_as_printed(&first, &second);
    assert_eq!(printed.expected[0].notion, Notion::SyncPreserving);
    assert!(printed.expected[0].second_events().is_empty());
    assert!(sync_preserving_pairs(&printed.trace).is_empty());
    assert_eq!(equality_sync_preserving(&first, &second).expected[0].second_events().len(), 1);
}

#[test]
fn impossible_sizes_are_refused() {
    let gadget = find_gadget("gadget-g1").expect("in the table");
    let error = gadget.build(&Size { vectors: 0, dimension: 3, seed: 0 }).expect_err("no vectors");
    assert_eq!(error.to_string(), "vectors: expected at least 1, found 0");
}

fn golden() -> Vec<Golden> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden");
    read_golden(&directory).expect("the golden traces are there")
}

/// The few operations that golden traces use, read independently of the trace readers.
fn parse(golden: &Golden) -> Trace {
    let mut trace = Trace::default();
    for line in golden.std.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split(['|', '(', ')']).collect();
        let [thread, op, operand, "", _location] = fields[..] else { panic!("{}: {line}", golden.name) };
        let symbols = &mut trace.symbols;
        let action = match op {
            "r" => symbols.variables.intern(operand.as_bytes()).map(Action::Read),
            "w" => symbols.variables.intern(operand.as_bytes()).map(Action::Write),
            "acq" => symbols.locks.intern(operand.as_bytes()).map(Action::Acquire),
            "rel" => symbols.locks.intern(operand.as_bytes()).map(Action::Release),
            "fork" => symbols.threads.intern(operand.as_bytes()).map(Action::Fork),
            "join" => symbols.threads.intern(operand.as_bytes()).map(Action::Join),
            _ => panic!("{}: {line}", golden.name),
        };
        let thread = symbols.threads.intern(thread.as_bytes()).expect("few names");
        trace.events.push(Event::new(thread, action.expect("few names"), LocationId::UNKNOWN));
    }
    trace
}

#[test]
fn golden_traces_are_well_formed_unless_they_say_otherwise() {
    let golden = golden();
    assert!(golden.len() >= 20);
    for golden in golden {
        assert_eq!(is_well_formed(&parse(&golden)), golden.repairs.is_empty(), "{}", golden.name);
    }
}

#[test]
fn golden_answers_are_what_the_definitions_say() {
    let seconds = |pairs: BTreeSet<(usize, usize)>| -> BTreeSet<u64> {
        pairs.into_iter().map(|(_, second)| second as u64).collect()
    };
    for golden in golden().iter().filter(|golden| golden.repairs.is_empty()) {
        let trace = parse(golden);
        let name = &golden.name;
        assert_eq!(golden.second_events["hb"], seconds(race_pairs(&trace).into_iter().collect()), "{name}");
        assert_eq!(golden.second_events["syncp"], seconds(sync_preserving_pairs(&trace)), "{name}");
        assert_eq!(golden.second_events["lock-cover"], seconds(lock_cover_pairs(&trace)), "{name}");
        let lock_set = lock_set_variables(&trace);
        let lock_set: BTreeSet<String> =
            lock_set.into_iter().map(|var| trace.symbols.variables.display(var)).collect();
        assert_eq!(golden.lock_set, Some(lock_set), "{name}");
        for (weaker, stronger) in [("syncp", "shb"), ("predictable", "syncp"), ("lock-cover", "predictable")]
        {
            assert!(golden.second_events[stronger].is_subset(&golden.second_events[weaker]), "{name}");
        }
    }
}

//! The happens-before detectors of the table against the definition, on random traces.

mod common;

use std::collections::BTreeMap;

use common::{pair, reported_pairs, run, without_locations};
use overtake_detect::{DETECTORS, Entry, Notion, Options, Promise};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, same, schedulable_races, second_events, variables,
};
use overtake_trace::{EventIndex, Trace, VarId};

/// Random traces per detector. A fifth more than promised are made, because some need repairs.
const TRACES: u64 = 120_000;

fn entries(notion: Notion, promise: Promise) -> Vec<&'static Entry> {
    let entries: Vec<_> =
        DETECTORS.iter().filter(|entry| entry.notion == notion && entry.promise == promise).collect();
    assert!(!entries.is_empty(), "no detector of {notion:?} promises {promise:?}");
    entries
}

/// Six well-formed shapes of every kind of operation, and one that needs repairs.
fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(26);
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape::ill_formed().with_events(26));
    shapes
}

type Definition = fn(&Trace) -> std::collections::BTreeSet<Pair>;

/// Second events exactly, and every named pair a race.
fn agrees_exactly(entry: &Entry, definition: Definition, trace: &Trace) -> Result<(), String> {
    let expected = definition(trace);
    let analysis = run(entry, &Options::default(), trace);
    same(entry.name, second_events(&expected), analysis.races().racy_events())?;
    same(entry.name, variables(&expected), analysis.races().racy_variables())?;
    true_pairs(entry, &expected, &reported_pairs(&*analysis))
}

fn true_pairs(
    entry: &Entry,
    expected: &std::collections::BTreeSet<Pair>,
    reported: &std::collections::BTreeSet<Pair>,
) -> Result<(), String> {
    match reported.difference(expected).next() {
        Some(pair) => Err(format!("{}: {pair:?} is no race", entry.name)),
        None => Ok(()),
    }
}

/// The first racy event of each variable.
fn first_events(pairs: impl IntoIterator<Item = Pair>) -> BTreeMap<VarId, EventIndex> {
    let mut first = BTreeMap::new();
    for Pair { second, var, .. } in pairs {
        let earliest = first.entry(var).or_insert(second);
        *earliest = second.min(*earliest);
    }
    first
}

#[test]
fn exact_detectors_report_exactly_the_happens_before_races() {
    for entry in entries(Notion::HappensBefore, Promise::Exact) {
        for_each_random_trace(&shapes(), TRACES, |trace| agrees_exactly(entry, happens_before_races, trace));
    }
}

#[test]
fn schedulable_detectors_report_exactly_the_schedulable_races() {
    for entry in entries(Notion::Schedulable, Promise::Exact) {
        for_each_random_trace(&shapes(), TRACES, |trace| agrees_exactly(entry, schedulable_races, trace));
    }
}

#[test]
fn the_first_race_of_each_variable_is_exact() {
    for entry in entries(Notion::HappensBefore, Promise::ExactToFirstRace) {
        for_each_random_trace(&shapes(), TRACES, |trace| {
            let expected = happens_before_races(trace);
            let by_variable = run(entry, &Options::default(), &without_locations(trace));
            let first = by_variable.races().groups().iter().map(|group| pair(&group.example));
            same(entry.name, first_events(expected.iter().copied()), first_events(first))?;
            same(entry.name, variables(&expected), by_variable.races().racy_variables())?;
            let by_pair = run(entry, &Options::default(), trace);
            true_pairs(entry, &expected, &reported_pairs(&*by_pair))
        });
    }
}

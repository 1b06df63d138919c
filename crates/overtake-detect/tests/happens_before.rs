//! The happens-before detectors of the table against the definition, on random traces.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::run;
use overtake_detect::{DETECTORS, Entry, Findings, Notion, Options, Partitions, Promise, Race};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, same, schedulable_races, second_events, variables,
};
use overtake_trace::{Event, EventIndex, LocationId, Trace, VarId};

/// Random traces per detector; the shapes take turns, and one in nine needs repairs.
const TRACES: u64 = 120_000;

fn entries(notion: Notion, promise: Promise) -> Vec<&'static Entry> {
    let entries: Vec<_> =
        DETECTORS.iter().filter(|entry| entry.notion == notion && entry.promise == promise).collect();
    assert!(!entries.is_empty(), "no detector of {notion:?} promises {promise:?}");
    entries
}

fn partitioned(partitions: Partitions) -> Options {
    let mut options = Options::default();
    options.partitions = partitions;
    options
}

/// Every kind of operation, more threads on one variable, and traces that need repairs.
fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(26);
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape::ill_formed().with_events(26));
    shapes
}

/// Second events exactly, and every named pair a race.
fn agrees_exactly(
    entry: &'static Entry,
    definition: fn(&Trace) -> BTreeSet<Pair>,
    trace: &Trace,
) -> Result<(), String> {
    let expected = definition(trace);
    run(entry, &Options::default(), trace, |job| {
        same(entry.name, second_events(&expected), job.findings().racy_events())?;
        same(entry.name, variables(&expected), job.findings().racy_variables())?;
        pairs_are_races(entry, &expected, job.findings())?;
        partners_are_the_latest(entry, &expected, job.findings())
    })
}

/// Of the accesses that an access races with, the latest is named.
fn partners_are_the_latest(entry: &Entry, expected: &BTreeSet<Pair>, races: &Findings) -> Result<(), String> {
    let mut named = races.groups().iter().map(|group| pair(&group.example));
    let is_later = |one: &Pair, other: &Pair| {
        (one.second, one.var) == (other.second, other.var) && one.first > other.first
    };
    match named.find(|named| expected.iter().any(|pair| is_later(pair, named))) {
        Some(pair) => Err(format!("{}: {pair:?} is not the latest race of its second access", entry.name)),
        None => Ok(()),
    }
}

/// Events of the random traces have locations of their own, so each reported pair of accesses is a group.
fn pairs_are_races(entry: &Entry, expected: &BTreeSet<Pair>, races: &Findings) -> Result<(), String> {
    all_are_races(entry, expected, races.groups().iter().map(|group| pair(&group.example)))
}

fn all_are_races(
    entry: &Entry,
    expected: &BTreeSet<Pair>,
    mut pairs: impl Iterator<Item = Pair>,
) -> Result<(), String> {
    match pairs.find(|pair| !expected.contains(pair)) {
        Some(pair) => Err(format!("{}: {pair:?} is no race", entry.name)),
        None => Ok(()),
    }
}

fn pair(race: &Race) -> Pair {
    Pair { first: race.first.at.index, second: race.second.at.index, var: race.var }
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

/// The trace without locations: races are then grouped by variable, and the example of a group is its first race.
fn without_locations(trace: &Trace) -> Trace {
    let forget = |event: &Event| {
        let (thread, op, order) = (event.thread(), event.op(), event.order());
        Event::from_parts(thread, op, order, event.operand(), LocationId::UNKNOWN)
    };
    Trace { symbols: trace.symbols.clone(), events: trace.events.iter().map(forget).collect() }
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
            run(entry, &Options::default(), &without_locations(trace), |job| {
                let first = job.findings().groups().iter().map(|group| pair(&group.example));
                same(entry.name, first_events(expected.iter().copied()), first_events(first))?;
                same(entry.name, variables(&expected), job.findings().racy_variables())
            })?;
            run(entry, &Options::default(), trace, |job| pairs_are_races(entry, &expected, job.findings()))
        });
    }
}

/// The same variables, however arrays are divided, and every named pair a race.
#[test]
fn compressed_state_finds_exactly_the_racy_variables() {
    let mut shapes = shapes();
    shapes.extend([20, 34].map(Shape::sweeps));
    shapes.push(Shape { atomics: 1, mixed: true, fences: true, ..Shape::sweeps(18) });
    for entry in entries(Notion::HappensBefore, Promise::ExactVariables) {
        for partitions in Partitions::ALL {
            let options = partitioned(partitions);
            for_each_random_trace(&shapes, 40_000, |trace| {
                let expected = happens_before_races(trace);
                run(entry, &options, trace, |job| {
                    same(entry.name, variables(&expected), job.findings().racy_variables())?;
                    pairs_are_races(entry, &expected, job.findings())
                })
            });
        }
    }
}

/// What the papers prove of traces without atomics: schedulable races are happens-before races, and the first racy event
/// is the same.
#[test]
fn schedulable_races_are_happens_before_races_and_begin_with_the_same() {
    let mut shapes = shapes();
    shapes.retain(|shape| shape.atomics == 0);
    let find = |name| overtake_detect::find(name).expect("it is in the table");
    for_each_random_trace(&shapes, 20_000, |trace| {
        let events = |name| run(find(name), &Options::default(), trace, |job| job.findings().racy_events());
        let (observed, schedulable) = (events("hb"), events("shb"));
        same("first racy event", observed.first(), schedulable.first())?;
        match schedulable.iter().find(|event| !observed.contains(event)) {
            Some(event) => Err(format!("event {event} is schedulable but not observed")),
            None => Ok(()),
        }
    });
}

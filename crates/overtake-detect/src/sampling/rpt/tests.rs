//! The tester against the definition: on arbitrary windows of random traces, and on traces that are far from race free.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use overtake_gen::{Parameters as Size, Workload, find_shape};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, same, second_events, sync_preserving_races,
};
use overtake_trace::{Action, Block, Event, EventIndex, Parameters, Result, Symbols, Trace};

use super::{Judge, Limits, Plan, RandomAccess, Stop, Tested, refine, test};
use crate::drive::{Driver, Strictness};
use crate::findings::Findings;
use crate::passes::Outcome;
use crate::race::Verdict;
use crate::registry::find;
use crate::settings::Options;
use crate::testing::run_analysis;

const TRACES: u64 = 100_000;

/// A trace in memory, handed out in small pieces.
struct Pieces<'a> {
    trace: &'a Trace,
    events: u64,
    read: AtomicU64,
}

impl RandomAccess for Pieces<'_> {
    fn symbols(&self) -> Result<&Symbols> {
        Ok(&self.trace.symbols)
    }

    fn read(&self, range: Range<u64>, block: &mut Block) -> Result<()> {
        let end = range.end.min(range.start + self.events);
        block.first = EventIndex(range.start);
        block.events.clear();
        block.events.extend_from_slice(&self.trace.events[range.start as usize..end as usize]);
        self.read.fetch_add(end - range.start, Ordering::Relaxed);
        Ok(())
    }
}

fn pieces(trace: &Trace, events: u64) -> Pieces<'_> {
    Pieces { trace, events, read: AtomicU64::new(0) }
}

/// A plan that consists of these windows.
fn plan(windows: Vec<Range<u64>>) -> Plan {
    let mut plan = Plan::new(Parameters::default(), 0.1, 0.1, 1).expect("possible parameters");
    plan.windows = windows;
    plan
}

/// Windows of random places and lengths, not touching.
fn random_windows(trace: &Trace) -> Vec<Range<u64>> {
    let mut bits = trace.events.iter().fold(1_u64, |mix, event| {
        (mix ^ u64::from(event.operand()) ^ u64::from(event.thread().0) << 3)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    let mut draw = |bound: u64| {
        bits = (bits ^ (bits >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (bits >> 33) % bound
    };
    let mut windows = Vec::new();
    let mut next = draw(4);
    let events = trace.events.len() as u64;
    while next < events {
        let end = events.min(next + 2 + draw(24));
        windows.push(next..end);
        next = end + 1 + draw(6);
    }
    windows
}

fn judged(trace: &Trace, windows: &[Range<u64>], judge: Judge) -> Tested {
    let workers = 1 + windows.len() % 2;
    test(&pieces(trace, 5), &plan(windows.to_vec()), judge, workers, Stop::default()).expect("ids in range")
}

fn pairs(races: &Findings) -> BTreeSet<Pair> {
    let pair =
        |race: &crate::Race| Pair { first: race.first.at.index, second: race.second.at.index, var: race.var };
    races.groups().iter().map(|group| pair(&group.example)).collect()
}

fn in_one_window(windows: &[Range<u64>], pair: &Pair) -> bool {
    windows.iter().any(|window| window.contains(&pair.first.0) && window.contains(&pair.second.0))
}

fn subset(what: &str, found: &BTreeSet<Pair>, expected: &BTreeSet<Pair>) -> std::result::Result<(), String> {
    match found.difference(expected).next() {
        Some(pair) => Err(format!("{what}: {pair:?} is no race")),
        None => Ok(()),
    }
}

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(30);
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape { locks: 3, ..Shape::shared_locks() }.with_events(40));
    shapes
}

/// The trace with locks acquired again by their holder here and there, around accesses.
fn with_nested_locking(trace: &Trace) -> Trace {
    let mut held = std::collections::BTreeMap::new();
    let mut events = Vec::new();
    for (at, event) in trace.events.iter().enumerate() {
        let (thread, location) = (event.thread(), event.location());
        match event.action() {
            Action::Acquire(lock) => drop(held.insert(thread.0, lock)),
            Action::Release(lock) if held.get(&thread.0) == Some(&lock) => drop(held.remove(&thread.0)),
            _ => {}
        }
        let again = held.get(&thread.0).filter(|_| at % 3 == 0 && matches!(event.action(), Action::Write(_)));
        match again {
            Some(&lock) => {
                events.push(Event::new(thread, Action::Acquire(lock), location));
                events.push(*event);
                events.push(Event::new(thread, Action::Release(lock), location));
            }
            None => events.push(*event),
        }
    }
    Trace { symbols: trace.symbols.clone(), events }
}

/// Exactly, where no heap block is involved.
/// Two events are ordered by what is between them alone, so the races of a piece are those of the trace that lie in it.
#[test]
fn pieces_have_the_races_that_no_cut_parts() {
    let shapes = [Shape::core(), Shape::threads_and_locks(), Shape::shared_locks()];
    let shapes = shapes.map(|shape| shape.with_events(40));
    for_each_random_trace(&shapes, 4_000, |trace| {
        let expected = happens_before_races(trace);
        [1, 2, 7, 16, 100].into_iter().try_for_each(|window| {
            let options = Options { window, ..Options::default() };
            let mut analysis = super::start_pieces(&options).expect("any window");
            run_analysis(&mut analysis, trace);
            let uncut: BTreeSet<_> = expected
                .iter()
                .copied()
                .filter(|pair| pair.first.0 / window == pair.second.0 / window)
                .collect();
            same(&format!("window {window}"), second_events(&uncut), analysis.findings().racy_events())
        })
    });
}

#[test]
fn happens_before_races_of_windows_are_those_of_the_trace() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let windows = random_windows(trace);
        let mut expected = happens_before_races(trace);
        let found = judged(trace, &windows, Judge::HappensBefore).races;
        subset("rpt", &pairs(&found), &expected)?;
        if trace.symbols.variables.array_count() == 0 {
            expected.retain(|pair| in_one_window(&windows, pair));
            same("rpt", second_events(&expected), found.racy_events())?;
        }
        Ok(())
    });
}

#[test]
fn predicted_races_of_windows_are_races_of_the_trace() {
    let predicted = AtomicU64::new(0);
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let expected = sync_preserving_races(trace);
        let observed = happens_before_races(trace);
        let found = judged(trace, &random_windows(trace), Judge::SyncPreserving).races;
        subset("rpt", &pairs(&found), &expected)?;
        for group in found.groups() {
            let pair = Pair {
                first: group.example.first.at.index,
                second: group.example.second.at.index,
                var: group.example.var,
            };
            if (group.example.verdict == Verdict::Observed) != observed.contains(&pair) {
                return Err(format!("{pair:?} is not {:?}", group.example.verdict));
            }
            predicted.fetch_add(u64::from(group.example.verdict == Verdict::Predicted), Ordering::Relaxed);
        }
        Ok(())
    });
    let predicted = predicted.into_inner();
    assert!(predicted > 1000, "only {predicted} races that happens-before misses");
}

/// So the promise of the tester holds for predicted races as well.
#[test]
fn the_first_observed_race_of_a_window_is_predicted() {
    let mut shapes = shapes();
    shapes.retain(|shape| shape.atomics == 0 && shape.blocks == 0);
    for_each_random_trace(&shapes, 20_000, |trace| {
        for window in random_windows(trace) {
            let found = |judge| judged(trace, std::slice::from_ref(&window), judge).races.racy_events();
            let (observed, predicted) = (found(Judge::HappensBefore), found(Judge::SyncPreserving));
            if let Some(event) = observed.first().filter(|event| !predicted.contains(event)) {
                return Err(format!("{event} races in {window:?} and is not predicted to"));
            }
        }
        Ok(())
    });
}

/// A window over everything knows everything.
#[test]
fn a_window_over_the_whole_trace_finds_all_there_is() {
    let mut shapes = shapes();
    shapes.push(Shape::ill_formed().with_events(26));
    for_each_random_trace(&shapes, 20_000, |trace| {
        let whole = 0..trace.events.len() as u64;
        let found = |judge| judged(trace, std::slice::from_ref(&whole), judge).races.racy_events();
        same("hb", second_events(&happens_before_races(trace)), found(Judge::HappensBefore))?;
        same("syncp", second_events(&sync_preserving_races(trace)), found(Judge::SyncPreserving))
    });
}

#[test]
fn locks_held_several_times_when_a_window_begins_invent_no_race() {
    for_each_random_trace(&shapes(), 50_000, |trace| {
        let trace = &with_nested_locking(trace);
        let windows = random_windows(trace);
        let found = |judge| pairs(&judged(trace, &windows, judge).races);
        subset("hb", &found(Judge::HappensBefore), &happens_before_races(trace))?;
        subset("syncp", &found(Judge::SyncPreserving), &sync_preserving_races(trace))
    });
}

fn epsilon_far(epsilon: f64, events: u64) -> Trace {
    let shape = find_shape("epsilon-far").expect("it is in the table");
    let size = Size { events, threads: 3, locks: 3, variables: 200, epsilon, seed: 5, ..shape.defaults };
    let mut workload = Workload::new(shape, size).expect("possible parameters");
    Trace::read(&mut workload).expect("memory does not fail")
}

fn parameters(trace: &Trace) -> Parameters {
    let mut statistics = overtake_trace::Statistics::new();
    statistics.add_events(EventIndex(0), &trace.events);
    statistics.summary(&trace.symbols).parameters
}

/// The promise, on a trace that must change in at least `epsilon` of its events.
#[test]
fn races_of_far_traces_are_found_with_the_promised_probability() {
    const SEEDS: u64 = 200;
    let (epsilon, delta) = (0.05, 0.1);
    let trace = epsilon_far(epsilon, 400_000);
    let parameters = parameters(&trace);
    let mut successes = 0;
    for seed in 0..SEEDS {
        let plan = Plan::new(parameters, epsilon, delta, seed).expect("possible parameters");
        assert!(!plan.is_whole, "{plan:?}");
        let source = pieces(&trace, 10_000);
        let tested = test(&source, &plan, Judge::HappensBefore, 2, Stop::default()).expect("ids in range");
        assert_eq!(source.read.into_inner(), plan.events());
        successes += u64::from(!tested.races.is_empty());
    }
    assert!(successes as f64 >= SEEDS as f64 * (1.0 - delta), "{successes} of {SEEDS}");
}

/// A trace that is race free but for one stretch: there are windows without races, so chance decides. Every pair of
/// accesses in the stretch is of fresh variables that two threads write without any order, so that each needs a change.
#[test]
fn races_in_one_stretch_of_a_far_trace_are_found_with_the_promised_probability() {
    const SEEDS: u64 = 200;
    let (epsilon, delta, events) = (0.05, 0.1, 400_000_u64);
    let mut trace = Trace::default();
    let threads: Vec<_> =
        [b"A", b"B"].iter().map(|name| trace.symbols.threads.intern(*name).unwrap()).collect();
    let racy = (2.0 * epsilon * events as f64) as u64;
    for at in 0..events {
        let is_racy = at >= events - racy;
        let name = if is_racy { format!("x{}", at / 2) } else { format!("own{}", at % 2) };
        let var = trace.symbols.variables.intern(name.as_bytes()).unwrap();
        let thread = threads[(at % 2) as usize];
        trace.events.push(Event::new(thread, Action::Write(var), overtake_trace::LocationId::UNKNOWN));
    }
    let parameters = parameters(&trace);
    let found = |seed| {
        let plan = Plan::new(parameters, epsilon, delta, seed).expect("possible parameters");
        assert!(!plan.is_whole, "{plan:?}");
        let source = pieces(&trace, 10_000);
        !test(&source, &plan, Judge::HappensBefore, 2, Stop::default())
            .expect("ids in range")
            .races
            .is_empty()
    };
    let successes = (0..SEEDS).filter(|&seed| found(seed)).count();
    assert!(successes as f64 >= SEEDS as f64 * (1.0 - delta), "{successes} of {SEEDS}");
}

/// However a trace is read, and by however many workers.
#[test]
fn the_same_windows_show_the_same_races() {
    let trace = epsilon_far(0.02, 120_000);
    for (judge, seed) in [(Judge::HappensBefore, 3), (Judge::SyncPreserving, 4)] {
        let options = Options { epsilon: 0.1, delta: 0.5, seed, judge, ..Options::default() };
        let plan = Plan::new(parameters(&trace), 0.1, 0.5, seed).expect("possible parameters");
        assert!(!plan.is_whole && plan.windows.len() > 3, "{plan:?}");
        let entry = find("rpt").expect("it is in the table");
        let mut driver = Driver::start(&[entry], &options, Strictness::Repair).expect("options that fit");
        while driver.pass(&mut trace.source().with_block_events(900), &mut |_| ()).expect("ids in range")
            == Outcome::AnotherPass
        {}
        let streamed = driver.jobs()[0].findings();
        for workers in [1, 2, 5] {
            let tested =
                test(&pieces(&trace, 700), &plan, judge, workers, Stop::default()).expect("ids in range");
            assert!(!tested.races.is_empty());
            assert_eq!(tested.races.racy_events(), streamed.racy_events());
            assert_eq!(tested.races.groups(), streamed.groups());
        }
    }
}

#[test]
fn the_plan_is_that_of_the_paper() {
    let parameters = Parameters { events: 1_000_000_000, threads: 12, most_held: 9, ..Parameters::default() };
    let plan = Plan::new(parameters, 0.01, 0.1, 1).expect("possible parameters");
    assert_eq!((plan.m, plan.window, plan.samples), (66, 26_400, 1727));
    assert!(plan.windows.is_sorted_by(|a, b| a.end < b.start));
    assert!(
        plan.windows.iter().all(|window| window.end <= 1_000_000_000 && window.end - window.start >= 26_400)
    );
    assert!(plan.events() <= 1727 * 26_400);
    let short = Parameters { events: 79_199, ..parameters };
    let whole = Plan::new(short, 0.01, 0.1, 1).expect("possible parameters");
    assert!(whole.is_whole && whole.windows.iter().eq([&(0..79_199)]), "{whole:?}");
    for (epsilon, delta) in [(0.0, 0.1), (1.0, 0.1), (0.1, 0.0), (f64::NAN, 0.1), (0.1, 2.0)] {
        assert!(Plan::new(parameters, epsilon, delta, 1).is_err(), "{epsilon} {delta}");
    }
}

#[test]
fn refinement_stops_at_the_first_race_or_when_the_budget_is_spent() {
    let far = epsilon_far(0.002, 400_000);
    let first = |trace: &Trace| Plan::new(parameters(trace), 0.2, 0.5, 9).expect("possible parameters");
    let limits = Limits::default();
    let refined =
        refine(&pieces(&far, 5000), first(&far), Judge::HappensBefore, 2, limits).expect("ids in range");
    let tested = refined.tested.expect("at least one step");
    assert!(!tested.races.is_empty() && refined.events < 400_000, "{} events", refined.events);
    let stop = Stop { at_first_race: true, at: None };
    let plan = refined.plan.expect("at least one step");
    let alone = test(&pieces(&far, 9000), &plan, Judge::HappensBefore, 1, stop).expect("ids in range");
    assert_eq!(
        alone.races.groups(),
        tested.races.groups(),
        "whoever judges, the first racy window is the same"
    );

    let mut clean = far.clone();
    clean.events.retain(|event| event.thread().0 == 0);
    let run = |budget| {
        let limits = Limits { until: None, budget };
        refine(&pieces(&clean, 5000), first(&clean), Judge::HappensBefore, 2, limits).expect("ids in range")
    };
    let events = first(&clean).events();
    assert_eq!(run(Some(events - 1)).steps, 0);
    assert_eq!((run(Some(events)).steps, run(Some(events)).events), (1, events));
    let all = run(None);
    assert!(all.plan.expect("it came to an end").is_whole && all.steps > 2);
}

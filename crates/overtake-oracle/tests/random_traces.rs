//! Random traces have the properties that their shapes promise.

use overtake_oracle::random::{self, Locations, Shape};
use overtake_oracle::{for_each_random_trace, is_well_formed, same, show, shrink, trace};
use overtake_trace::{Block, Checker, EventSource, Op, Repair, Repairs, Trace};

#[test]
fn random_traces_are_well_formed() {
    for_each_random_trace(&Shape::all_well_formed(30), 70_000, |trace| {
        if is_well_formed(trace) { Ok(()) } else { Err("ill-formed".into()) }
    });
}

#[test]
fn same_seed_gives_the_same_trace() {
    for shape in Shape::all_well_formed(30) {
        assert_eq!(random::trace(&shape, 7), random::trace(&shape, 7));
        assert_ne!(random::trace(&shape, 7), random::trace(&shape, 8));
    }
}

#[test]
fn everything_has_every_operation() {
    let traces: Vec<_> = (0..200).map(|seed| random::trace(&Shape::everything(), seed)).collect();
    for op in Op::ALL.into_iter().filter(|op| ![Op::Skip, Op::Misuse, Op::Gap].contains(op)) {
        assert!(traces.iter().flat_map(|trace| &trace.events).any(|event| event.op() == op), "no {op:?}");
    }
}

#[test]
fn ill_formed_traces_need_every_repair() {
    let traces = (0..2000).map(|seed| random::trace(&Shape::ill_formed(), seed));
    let mut kinds: Vec<Repair> =
        traces.flat_map(|trace| repairs(&trace).made().collect::<Vec<_>>()).map(|(kind, _)| kind).collect();
    kinds.sort_by_key(|kind| kind.name());
    kinds.dedup();
    assert_eq!(kinds.len(), Repair::ALL.len(), "only {kinds:?}");
}

fn repairs(trace: &Trace) -> Repairs {
    let (mut source, mut checker, mut block) = (trace.source(), Checker::repairing(), Block::default());
    while source.next_block(&mut block).unwrap() {
        checker.check(&mut block, source.symbols_mut()).unwrap();
    }
    checker.repairs().clone()
}

#[test]
fn locations_are_as_asked_for() {
    let with = |locations| random::trace(&Shape { locations, ..Shape::core() }, 1);
    assert!(with(Locations::Unknown).events.iter().all(|event| !event.location().is_known()));
    assert!(with(Locations::Few(2)).events.iter().all(|event| event.location().0 < 2));
    for (index, event) in with(Locations::Distinct).events.iter().enumerate() {
        assert_eq!(event.location().0 as usize, index);
    }
}

#[test]
fn shown_traces_read_back() {
    for_each_random_trace(&Shape::all_well_formed(30), 2_000, |random| {
        same("text", [show(random)], [show(&trace(&show(random)))])
    });
}

#[test]
fn shrinking_keeps_what_fails_and_nothing_else() {
    let writes = |trace: &Trace| trace.events.iter().filter(|event| event.op() == Op::Write).count();
    let sections = |trace: &Trace| trace.events.iter().filter(|event| event.op() == Op::Release).count();
    for seed in 0..50 {
        let trace = random::trace(&Shape::core(), seed);
        if writes(&trace) >= 2 && sections(&trace) >= 1 {
            let shrunk = shrink(&trace, |trace| writes(trace) >= 2 && sections(trace) >= 1);
            assert!(is_well_formed(&shrunk));
            assert_eq!(shrunk.events.len(), 4, "{}", show(&shrunk));
        }
    }
}

#[test]
fn a_failing_comparison_names_the_seed_and_a_minimal_trace() {
    let failure = std::panic::catch_unwind(|| {
        for_each_random_trace(&[Shape::core()], 100, |trace| {
            let write = trace.events.iter().any(|event| event.op() == Op::Write);
            if write { Err("a write".into()) } else { Ok(()) }
        });
    });
    let message = failure.unwrap_err().downcast_ref::<String>().cloned().unwrap();
    assert!(message.starts_with("seed ") && message.contains("a write"), "{message}");
    assert_eq!(message.lines().filter(|line| line.contains(" # ")).count(), 1, "{message}");
}

//! Deadlocks and the notions beyond sync-preservation: definitions compared with an enumeration of reorderings.

use std::collections::BTreeSet;
use std::fmt::Debug;

use overtake_oracle::random::{self, Shape};
use overtake_oracle::{
    for_each_random_trace, happens_before_races, lock_order_cycles, optimistic_races, optimistic_schedule,
    predictable_deadlocks, predictable_races, published_optimistic_races, random_traces, reordering, same,
    second_events, sync_preserving_deadlocks, sync_preserving_deadlocks_by_enumeration,
    sync_preserving_races, trace, weak_order_races,
};
use overtake_trace::Trace;

fn included<T: Ord + Debug>(what: &str, small: &BTreeSet<T>, large: &BTreeSet<T>) -> Result<(), String> {
    match small.difference(large).next() {
        Some(outside) => Err(format!("{what}: {outside:?}")),
        None => Ok(()),
    }
}

/// Shapes of every kind, some with more nesting, and traces that need repairs.
fn all_shapes(events: u32) -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(events);
    shapes.push(Shape::nested_locks().with_events(events));
    shapes.push(
        Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() }
            .with_events(events),
    );
    shapes.push(Shape { shared_locks: true, ..Shape::nested_locks() }.with_events(events));
    shapes.push(Shape { nested_locks: true, locks: 3, ..Shape::everything() }.with_events(events));
    shapes.push(Shape { tries: true, shared_locks: true, ..Shape::nested_locks() }.with_events(events));
    shapes.push(Shape::ill_formed().with_events(events));
    shapes
}

#[test]
fn optimistic_races_have_schedules_that_are_correct_reorderings() {
    for_each_random_trace(&all_shapes(24), random_traces(5_000), |trace| {
        for race in optimistic_races(trace) {
            let schedule = optimistic_schedule(trace, race.first, race.second).ok_or("no schedule")?;
            reordering::check_race(trace, &schedule, race.first, race.second)
                .map_err(|violation| format!("{race:?}: {violation} in {schedule:?}"))?;
        }
        Ok(())
    });
}

#[test]
fn optimistic_races_are_predictable_and_contain_those_of_the_published_definition() {
    for_each_random_trace(&all_shapes(14), random_traces(5_000), |trace| {
        let races = optimistic_races(trace);
        included("published but not optimistic", &published_optimistic_races(trace), &races)?;
        included("optimistic but not predictable", &races, &predictable_races(trace))
    });
}

/// The published definition ends the section of `m`, which only T0 takes, and so leaves two sections of `l` open.
#[test]
fn a_lock_of_one_thread_that_is_not_given_back_shows_a_predictable_race_more() {
    let text =
        "T0 acq m; T0 fork T1; T2 acq l; T2 w x; T2 rel l; T1 acq l; T1 rel l; T1 r x; T0 acq l; T0 rel m";
    assert_eq!(seconds(published_optimistic_races, text), [] as [u64; 0]);
    assert_eq!(seconds(optimistic_races, text), [7]);
    assert_eq!(seconds(predictable_races, text), [7]);
}

#[test]
fn deadlocks_by_closure_agree_with_enumeration() {
    for_each_random_trace(&all_shapes(16), random_traces(10_000), |trace| {
        let closed = sync_preserving_deadlocks(trace);
        same("deadlocks", sync_preserving_deadlocks_by_enumeration(trace), closed.clone())?;
        let predictable = predictable_deadlocks(trace);
        included("sync-preserving but not predictable", &closed, &predictable)?;
        included("predictable but not in the order of locks", &predictable, &lock_order_cycles(trace))
    });
}

/// The weak order is part of happens-before unless atomics are relaxed.
#[test]
fn happens_before_races_are_weak_order_races() {
    let mut shapes = all_shapes(30);
    shapes.retain(|shape| shape.atomics == 0);
    for_each_random_trace(&shapes, random_traces(5_000), |trace| {
        included("observed but ordered", &happens_before_races(trace), &weak_order_races(trace))
    });
}

/// Locks are released in the order opposite to that in which they were taken.
#[test]
fn the_first_weak_order_race_is_predictable_or_a_deadlock_is() {
    let mut shapes = all_shapes(14);
    shapes.retain(|shape| !shape.mixed && !shape.non_lifo);
    for_each_random_trace(&shapes, random_traces(5_000), |trace| {
        let Some(first) = second_events(&weak_order_races(trace)).first().copied() else { return Ok(()) };
        let predictable = second_events(&predictable_races(trace)).contains(&first);
        if predictable || !predictable_deadlocks(trace).is_empty() {
            return Ok(());
        }
        Err(format!("event {first} is in no predictable race, and there is no deadlock"))
    });
}

/// The tests above prove nothing unless random traces distinguish the notions.
#[test]
fn random_traces_have_what_the_tests_ask_about() {
    let count = |shape: &Shape, has: fn(&Trace) -> bool| {
        (0..2_400).filter(|&seed| has(&random::trace(shape, seed))).count()
    };
    let shape = Shape::nested_locks().with_events(22);
    let counts = [
        count(&shape, |trace| !sync_preserving_deadlocks(trace).is_empty()),
        count(&shape, |trace| sync_preserving_deadlocks(trace) != predictable_deadlocks(trace)),
        count(&shape, |trace| predictable_deadlocks(trace) != lock_order_cycles(trace)),
        count(&Shape::many_locks(), |trace| {
            !optimistic_races(trace).is_subset(&sync_preserving_races(trace))
        }),
        count(&Shape::many_locks(), |trace| weak_order_races(trace) != happens_before_races(trace)),
    ];
    assert!(counts.iter().all(|&count| count >= 3), "{counts:?}");
}

fn seconds(races: fn(&Trace) -> BTreeSet<overtake_oracle::Pair>, text: &str) -> Vec<u64> {
    second_events(&races(&trace(text))).into_iter().map(|event| event.0).collect()
}

/// Traces on which published algorithms or well-known tools are wrong.
#[test]
fn counterexamples_for_optimistic_reversal() {
    let cycle = "T0 acq l; T0 r y; T0 w x; T2 w y; T1 r y; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    assert_eq!(seconds(optimistic_races, cycle), [3, 4]);
    let full = "T1 acq l; T1 r z; T1 rel l; T2 acq l; T2 w y; T3 r y; T3 w z; T2 rel l";
    assert_eq!(seconds(optimistic_races, full), [5, 6]);
    let apart = "T1 acq m; T1 w x; T1 rel m; T0 acq l; T0 w y; T2 r y; T0 acq m; T2 r x; T0 rel l; \
                 T3 acq l; T3 rel l";
    let pairs = |races: BTreeSet<overtake_oracle::Pair>| {
        races.into_iter().map(|race| (race.first.0, race.second.0)).collect::<Vec<_>>()
    };
    assert!(pairs(sync_preserving_races(&trace(apart))).contains(&(1, 7)));
    assert!(!pairs(optimistic_races(&trace(apart))).contains(&(1, 7)));
    let writes = "T0 acq l; T0 w v; T0 w x; T0 rel l; T1 acq l; T1 w v; T1 rel l; T1 r x";
    assert_eq!(seconds(optimistic_races, writes), [] as [u64; 0]);
    assert_eq!(seconds(predictable_races, writes), [7]);
}

#[test]
fn counterexamples_for_the_weak_order() {
    let own = "T0 w x; T0 acq l; T0 rel l; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    assert_eq!(seconds(weak_order_races, own), [7]);
    let open = "T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x";
    assert_eq!(seconds(weak_order_races, open), [] as [u64; 0]);
    let non_lifo =
        "T0 acq l; T0 w x; T0 acq m; T0 rel l; T0 rel m; T1 acq l; T1 r x; T1 rel l; T1 acq m; T1 rel m";
    assert_eq!(seconds(weak_order_races, non_lifo), [] as [u64; 0]);
}

/// Without nesting the first weak-order race may be neither.
#[test]
fn a_lock_that_is_handed_on_makes_the_first_weak_order_race_impossible() {
    let text =
        "T0 acq l; T0 acq m; T0 rel m; T0 r x; T0 rel l; T1 acq l; T1 acq m; T1 rel l; T1 w x; T1 rel m";
    assert_eq!(seconds(weak_order_races, text), [8]);
    assert!(seconds(predictable_races, text).is_empty() && predictable_deadlocks(&trace(text)).is_empty());
}

fn deadlocks(text: &str) -> Vec<Vec<u64>> {
    let found = sync_preserving_deadlocks(&trace(text));
    assert_eq!(found, sync_preserving_deadlocks_by_enumeration(&trace(text)));
    found.into_iter().map(|cycle| cycle.into_iter().map(|event| event.0).collect()).collect()
}

#[test]
fn threads_that_take_two_locks_in_opposite_order_can_deadlock() {
    let text = "T0 acq l; T0 acq m; T0 rel m; T0 rel l; T1 acq m; T1 acq l; T1 rel l; T1 rel m";
    assert_eq!(deadlocks(text), [[1, 5]]);
}

#[test]
fn no_deadlock_in_one_thread_under_a_gate_or_between_threads_that_never_meet() {
    let none: Vec<Vec<u64>> = Vec::new();
    let one_thread = "T0 acq l; T0 acq m; T0 rel m; T0 rel l; T0 acq m; T0 acq l; T0 rel l; T0 rel m";
    assert_eq!(deadlocks(one_thread), none);
    let gate = "T0 acq g; T0 acq l; T0 acq m; T0 rel m; T0 rel l; T0 rel g; \
                T1 acq g; T1 acq m; T1 acq l; T1 rel l; T1 rel m; T1 rel g";
    assert_eq!(deadlocks(gate), none);
    let joined = "M fork T0; T0 acq l; T0 acq m; T0 rel m; T0 rel l; M join T0; M fork T1; \
                  T1 acq m; T1 acq l; T1 rel l; T1 rel m";
    assert_eq!(deadlocks(joined), none);
    assert!(lock_order_cycles(&trace(joined)).is_empty());
}

#[test]
fn readers_do_not_wait_for_readers() {
    let readers = "T0 acq m; T0 racq l; T0 rrel l; T0 rel m; T1 racq l; T1 acq m; T1 rel m; T1 rrel l";
    assert_eq!(deadlocks(readers), [] as [Vec<u64>; 0]);
    let writer = "T0 acq m; T0 acq l; T0 rel l; T0 rel m; T1 racq l; T1 acq m; T1 rel m; T1 rrel l";
    assert_eq!(deadlocks(writer), [[1, 5]]);
}

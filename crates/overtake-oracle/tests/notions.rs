//! The notions compared with each other: two definitions of one notion agree, and proved inclusions hold.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use overtake_oracle::random::{self, Shape};
use overtake_oracle::{
    History, Pair, for_each_random_trace, happens_before_races, lock_cover_races, lock_set_variables,
    predictable_races, reordering, same, schedulable_races, second_events, sync_preserving_ideal,
    sync_preserving_races, sync_preserving_races_by_enumeration, variables,
};
use overtake_trace::{EventIndex, Op, Trace};

fn included<T: Ord + std::fmt::Debug>(
    what: &str,
    small: &BTreeSet<T>,
    large: &BTreeSet<T>,
) -> Result<(), String> {
    let outside: Vec<_> = small.difference(large).collect();
    if outside.is_empty() { Ok(()) } else { Err(format!("{what}: {outside:?}")) }
}

/// Shapes of every kind, and traces that need repairs.
fn all_shapes(events: u32) -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(events);
    shapes.push(Shape::ill_formed().with_events(events));
    shapes
}

#[test]
fn closure_form_agrees_with_enumeration() {
    for_each_random_trace(&all_shapes(14), 40_000, |trace| {
        same("closure", sync_preserving_races_by_enumeration(trace), sync_preserving_races(trace))
    });
}

#[test]
fn schedulable_races_are_sync_preserving() {
    for_each_random_trace(&all_shapes(30), 40_000, |trace| {
        included(
            "schedulable but not sync-preserving",
            &schedulable_races(trace),
            &sync_preserving_races(trace),
        )
    });
}

#[test]
fn sync_preserving_races_are_predictable_and_those_violate_the_discipline() {
    for_each_random_trace(&all_shapes(14), 40_000, |trace| {
        let predictable = predictable_races(trace);
        let uncovered = lock_cover_races(trace);
        included("sync-preserving but not predictable", &sync_preserving_races(trace), &predictable)?;
        included("predictable but lock-covered", &predictable, &uncovered)?;
        included("uncovered but in the lock-set", &variables(&uncovered), &lock_set_variables(trace))
    });
}

/// With atomics this does not hold: a relaxed store that is seen orders only in the schedulable relation, and an acquiring load is
/// the end of an edge only in happens-before.
#[test]
fn the_first_race_without_atomics_is_schedulable() {
    let mut shapes = all_shapes(30);
    shapes.retain(|shape| shape.atomics == 0);
    for_each_random_trace(&shapes, 40_000, |trace| {
        let (observed, schedulable) = (happens_before_races(trace), schedulable_races(trace));
        included("schedulable but not happens-before", &schedulable, &observed)?;
        let first = |races| second_events(races).first().copied();
        same("first racy event", first(&observed), first(&schedulable))
    });
}

#[test]
fn a_trace_is_a_sync_preserving_reordering_of_itself() {
    for_each_random_trace(&all_shapes(40), 40_000, |trace| {
        let itself: Vec<EventIndex> = History::new(trace).steps.iter().map(|step| step.index).collect();
        reordering::check(trace, &itself).map_err(|violation| violation.to_string())?;
        if reordering::is_sync_preserving(trace, &itself) {
            Ok(())
        } else {
            Err("not sync-preserving".into())
        }
    });
}

#[test]
fn ideals_in_trace_order_are_witnesses() {
    for_each_random_trace(&all_shapes(24), 20_000, |trace| {
        for race in sync_preserving_races(trace) {
            let witness = sync_preserving_ideal(trace, race.first, race.second);
            reordering::check_race(trace, &witness, race.first, race.second)
                .map_err(|violation| format!("{race:?}: {violation} in {witness:?}"))?;
            if !reordering::is_sync_preserving(trace, &witness) {
                return Err(format!("{race:?}: {witness:?} is not sync-preserving"));
            }
        }
        Ok(())
    });
}

/// Tries all schedules one by one, each checked by `reordering`, instead of a search through states. Traces with a gap are left
/// out: a gap becomes so many steps that there would be too many schedules.
#[test]
fn enumeration_agrees_with_the_checker_of_schedules() {
    let judged = AtomicU64::new(0);
    for_each_random_trace(&all_shapes(7), 2_400, |trace| {
        if trace.events.iter().any(|event| event.op() == Op::Gap) {
            return Ok(());
        }
        judged.fetch_add(1, Ordering::Relaxed);
        let (predictable, sync_preserving) = races_by_all_schedules(trace);
        same("predictable", predictable, predictable_races(trace))?;
        same("sync-preserving", sync_preserving, sync_preserving_races_by_enumeration(trace))
    });
    let judged = judged.into_inner();
    assert!(judged > 2_000, "only {judged} traces have no gap");
}

fn races_by_all_schedules(trace: &Trace) -> (BTreeSet<Pair>, BTreeSet<Pair>) {
    let candidates = lock_cover_races(trace);
    let mut agenda: Vec<Vec<EventIndex>> = vec![Vec::new()];
    let (mut predictable, mut sync_preserving) = (BTreeSet::new(), BTreeSet::new());
    while let Some(schedule) = agenda.pop() {
        if reordering::check(trace, &schedule).is_err() {
            continue;
        }
        let keeps_order = reordering::is_sync_preserving(trace, &schedule);
        for &race in &candidates {
            if reordering::check_race(trace, &schedule, race.first, race.second).is_ok() {
                predictable.insert(race);
                sync_preserving.extend(keeps_order.then_some(race));
            }
        }
        agenda.extend((0..trace.events.len() as u64).map(|next| {
            let mut longer = schedule.clone();
            longer.push(EventIndex(next));
            longer
        }));
    }
    (predictable, sync_preserving)
}

/// The tests above prove nothing unless random traces have races that distinguish the notions.
#[test]
fn random_traces_tell_the_notions_apart() {
    let count = |shape: Shape, differ: fn(&Trace) -> bool| {
        (0..1_000).filter(|&seed| differ(&random::trace(&shape, seed))).count()
    };
    let predictable = |trace: &Trace| sync_preserving_races(trace) != predictable_races(trace);
    assert!(count(Shape::core().with_events(14), predictable) >= 10);
    for shape in [Shape::many_locks(), Shape::everything().with_events(40)] {
        let seconds_differ = |trace: &Trace| {
            let (schedulable, preserving) = (schedulable_races(trace), sync_preserving_races(trace));
            second_events(&schedulable) != second_events(&preserving)
        };
        let unprotected = |trace: &Trace| lock_set_variables(trace) != variables(&lock_cover_races(trace));
        let apart = [
            count(shape.clone(), |trace| happens_before_races(trace) != schedulable_races(trace)),
            count(shape.clone(), seconds_differ),
            count(shape.clone(), |trace| sync_preserving_races(trace) != lock_cover_races(trace)),
            count(shape.clone(), unprotected),
            count(shape, has_protected_variable),
        ];
        assert!(apart.iter().all(|&count| count >= 8), "{apart:?}");
    }
}

/// Whether some variable has conflicting accesses and a lock that protects them all.
fn has_protected_variable(trace: &Trace) -> bool {
    let unprotected = lock_set_variables(trace);
    History::new(trace).conflicts().any(|(_, _, var)| !unprotected.contains(&var))
}

//! The notions against each other: what is defined twice agrees, what is proved to be included is.

use std::collections::BTreeSet;

use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, schedulable_races, second_events,
    sync_preserving_races,
};

fn included(what: &str, small: &BTreeSet<Pair>, large: &BTreeSet<Pair>) -> Result<(), String> {
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
fn schedulable_races_are_sync_preserving() {
    for_each_random_trace(&all_shapes(30), 40_000, |trace| {
        included(
            "schedulable but not sync-preserving",
            &schedulable_races(trace),
            &sync_preserving_races(trace),
        )
    });
}

/// Without atomics: a relaxed store that is seen orders in the schedulable relation only, and an acquiring load is
/// itself an edge's end in happens-before only.
#[test]
fn the_first_race_without_atomics_is_schedulable() {
    let mut shapes = all_shapes(30);
    shapes.retain(|shape| shape.atomics == 0);
    for_each_random_trace(&shapes, 40_000, |trace| {
        let (observed, schedulable) = (happens_before_races(trace), schedulable_races(trace));
        included("schedulable but not happens-before", &schedulable, &observed)?;
        let first = |races| second_events(races).first().copied();
        overtake_oracle::same("first racy event", first(&observed), first(&schedulable))
    });
}

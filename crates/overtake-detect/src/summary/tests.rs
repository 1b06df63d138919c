//! Windows and blocks change no verdict: under test windows begin with the block of the first access, and candidates do not wait long.

use std::sync::atomic::{AtomicU64, Ordering};

use overtake_oracle::random::Shape;
use overtake_oracle::{
    for_each_random_trace, optimistic_races, random_traces, same, second_events, sync_preserving_races,
};

use overtake_trace::{Event, LocationId, Trace};

use crate::settings::Options;
use crate::testing::run;
use crate::{Driver, Outcome, Strictness, find};

#[test]
fn judging_in_windows_changes_no_verdict() {
    let mut shapes = Shape::all_well_formed(60);
    let free = Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() };
    shapes.push(free.with_events(60));
    shapes.push(Shape { threads: 5, locks: 3, ..Shape::threads_and_locks() }.with_events(80));
    shapes.push(Shape { threads: 4, locks: 3, ..Shape::shared_locks() }.with_events(80));
    shapes.push(Shape::ill_formed().with_events(60));
    let (in_windows, again) = (AtomicU64::new(0), AtomicU64::new(0));
    for_each_random_trace(&shapes, random_traces(6_000), |trace| {
        let expected = &sync_preserving_races(trace) | &optimistic_races(trace);
        let options = Options { instances: 0, ..Options::default() };
        let analysis = run("osr", &options, trace);
        for (name, count) in analysis.figures() {
            match name {
                "pairs judged in windows" => in_windows.fetch_add(count, Ordering::Relaxed),
                "pairs judged again with more of the trace" => again.fetch_add(count, Ordering::Relaxed),
                _ => 0,
            };
        }
        same("osr", second_events(&expected), analysis.findings().racy_events())
    });
    let counts = [in_windows, again].map(AtomicU64::into_inner);
    assert!(counts.iter().all(|&count| count > 100), "windows were hardly used: {counts:?}");
}

/// What a detector finds of a trace that comes in blocks of this size, with few locations, so that groups have several races.
fn found(name: &str, trace: &Trace, block_events: usize) -> String {
    let entry = find(name).expect("in the table");
    let options = Options { window: 30, ..Options::default() };
    let mut driver = Driver::start(&[entry], &options, Strictness::Repair).expect("good options");
    while driver
        .pass(&mut trace.source().with_block_events(block_events), &mut |_| ())
        .is_ok_and(|outcome| outcome == Outcome::AnotherPass)
    {}
    let findings = driver.jobs()[0].findings();
    format!("{:?} {:?}", findings.racy_events(), findings.groups())
}

#[test]
fn the_size_of_blocks_changes_nothing_that_is_reported() {
    let mut shapes = Shape::all_well_formed(60);
    shapes.push(Shape { threads: 5, locks: 3, ..Shape::threads_and_locks() }.with_events(80));
    for_each_random_trace(&shapes, random_traces(1_000), |trace| {
        let mut trace = trace.clone();
        for (number, event) in trace.events.iter_mut().enumerate() {
            *event = Event::new(event.thread(), event.action(), LocationId(number as u32 % 5));
        }
        for name in ["osr", "short-osr", "m2", "wcp"] {
            let whole = found(name, &trace, 1_000);
            for block_events in [1, 7, 20] {
                same(name, [&whole], [&found(name, &trace, block_events)])?;
            }
        }
        Ok(())
    });
}

//! Windows change no verdict: under test they begin with the block of the first access, and candidates do not wait long.

use std::sync::atomic::{AtomicU64, Ordering};

use overtake_oracle::random::Shape;
use overtake_oracle::{
    for_each_random_trace, optimistic_races, random_traces, same, second_events, sync_preserving_races,
};

use crate::settings::Options;
use crate::testing::run;

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

//! Under test, what all threads know is dropped after every section.

use overtake_oracle::random::Shape;
use overtake_oracle::{for_each_random_trace, random_traces, same, second_events, weak_order_races};

use crate::settings::Options;
use crate::testing::run;

#[test]
fn dropping_what_all_threads_know_changes_no_verdict() {
    let mut shapes = Shape::all_well_formed(60);
    let free = Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() };
    let more = [
        free,
        Shape { threads: 6, locks: 3, ..Shape::threads_and_locks() },
        Shape { threads: 4, locks: 3, ..Shape::shared_locks() },
        Shape { threads: 6, ..Shape::everything() },
        Shape::ill_formed(),
    ];
    shapes.extend(more.map(|shape| shape.with_events(60)));
    for_each_random_trace(&shapes, random_traces(6_000), |trace| {
        let analysis = run("wcp", &Options::default(), trace);
        same("wcp", second_events(&weak_order_races(trace)), analysis.findings().racy_events())
    });
}

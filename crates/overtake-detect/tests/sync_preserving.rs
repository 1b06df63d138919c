//! The sync-preserving detectors of the table against the definition.

mod common;

use common::{reported_pairs, run};
use overtake_detect::{Analysis, Options, Verdict, find};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    for_each_random_trace, happens_before_races, same, second_events, sync_preserving_races, trace, within,
};
use overtake_trace::{EventIndex, Trace};

const TRACES: u64 = 120_000;

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(28);
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape { locks: 3, ..Shape::shared_locks() }.with_events(40));
    shapes.push(Shape::ill_formed().with_events(26));
    shapes
}

fn options(window: u64, no_filter: bool) -> Options {
    let mut options = Options::default();
    (options.window, options.no_filter) = (window, no_filter);
    options
}

fn syncp(trace: &Trace, no_filter: bool) -> Box<dyn Analysis> {
    run(find("syncp").expect("in the table"), &options(0, no_filter), trace)
}

fn short_syncp(trace: &Trace, window: u64, no_filter: bool) -> Box<dyn Analysis> {
    run(find("short-syncp").expect("in the table"), &options(window, no_filter), trace)
}

#[test]
fn syncp_reports_exactly_the_sync_preserving_races() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let expected = sync_preserving_races(trace);
        let observed = happens_before_races(trace);
        for no_filter in [false, true] {
            let analysis = syncp(trace, no_filter);
            same("racy events", second_events(&expected), analysis.races().racy_events())?;
            for group in analysis.races().groups() {
                let pair = common::pair(&group.example);
                if !expected.contains(&pair) {
                    return Err(format!("{pair:?} is no race"));
                }
                let verdict =
                    if observed.contains(&pair) { Verdict::Observed } else { Verdict::Predicted };
                if group.example.verdict != verdict {
                    return Err(format!("{pair:?} is {verdict:?}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn short_syncp_reports_exactly_the_races_in_the_window() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let expected = sync_preserving_races(trace);
        let count = trace.events.len() as u64;
        let seed = count + trace.events.iter().map(|event| u64::from(event.operand())).sum::<u64>();
        for window in [2 + seed % count.max(1), 2 + seed % 7, count.max(2)] {
            let expected = within(&expected, window);
            let analysis = short_syncp(trace, window, seed % 2 == 0);
            let what = format!("window {window}");
            same(&what, second_events(&expected), analysis.races().racy_events())?;
            if let Some(pair) = reported_pairs(&*analysis).difference(&expected).next() {
                return Err(format!("{what}: {pair:?} is no race"));
            }
        }
        Ok(())
    });
}

fn indices(numbers: &[u64]) -> Vec<EventIndex> {
    numbers.iter().map(|&number| EventIndex(number)).collect()
}

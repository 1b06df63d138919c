//! `osr`, `short-osr`, `m2` and `wcp`.

use std::collections::BTreeSet;

use overtake_detect::{Findings, Options, Verdict};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, optimistic_races, predictable_races, random_traces,
    same, second_events, sync_preserving_races, trace, weak_order_races, within,
};
use overtake_trace::{EventIndex, Trace};

use crate::common::run_together;
use crate::{find, find_with};

fn shapes(events: u32) -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(events);
    let free = Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() };
    let more = [
        Shape { threads: 5, variables: 1, ..Shape::everything() },
        Shape { locks: 3, ..Shape::shared_locks() },
        Shape::nested_locks(),
        free,
        Shape::ill_formed(),
    ];
    shapes.extend(more.map(|shape| shape.with_events(events)));
    shapes
}

/// The reported pairs; each event has a location of its own, so that each is a group.
fn pairs(findings: &Findings) -> BTreeSet<Pair> {
    let races = findings.groups().iter().map(|group| group.example);
    races
        .map(|race| Pair { first: race.first.at.index, second: race.second.at.index, var: race.var })
        .collect()
}

/// Exactly the second events of `expected` are reported, with pairs that are in it.
fn agree(findings: &Findings, expected: &BTreeSet<Pair>) -> Result<(), String> {
    same("racy events", second_events(expected), findings.racy_events())?;
    match pairs(findings).difference(expected).next() {
        Some(pair) => Err(format!("{pair:?} is no race")),
        None => Ok(()),
    }
}

fn reversal_races(trace: &Trace) -> BTreeSet<Pair> {
    &sync_preserving_races(trace) | &optimistic_races(trace)
}

#[test]
fn osr_reports_exactly_the_accesses_in_races_of_either_kind() {
    for_each_random_trace(&shapes(28), random_traces(8_000), |trace| {
        let expected = reversal_races(trace);
        for no_filter in [false, true] {
            let mut options = Options::default();
            (options.instances, options.no_filter) = (0, no_filter);
            find_with("osr", &options, trace, |findings| agree(findings, &expected))?;
        }
        Ok(())
    });
}

/// What a detector found, spelled out.
fn all_of(findings: &Findings) -> String {
    format!("{:?} {:?}", findings.racy_events(), findings.groups())
}

#[test]
fn together_with_the_detector_that_they_include_they_find_what_each_finds_alone() {
    for_each_random_trace(&shapes(28), random_traces(2_000), |trace| {
        for recorded in [false, true] {
            let mut trace = trace.clone();
            if recorded {
                trace.symbols.program.pid = 1;
            }
            for names in [["syncp", "osr"], ["short-osr", "short-syncp"]] {
                let entries = names.map(|name| overtake_detect::find(name).expect("a row"));
                let mut options = Options::default();
                options.window = 12;
                let together = run_together(&entries, &options, &trace, |jobs| {
                    [0, 1].map(|at| all_of(jobs[at].findings()))
                });
                for (name, together) in names.into_iter().zip(together) {
                    let alone = find_with(name, &options, &trace, all_of);
                    same(name, [alone], [together])?;
                }
            }
        }
        Ok(())
    });
}

#[test]
fn short_osr_reports_exactly_the_accesses_in_races_within_the_window() {
    for_each_random_trace(&shapes(28), random_traces(4_000), |trace| {
        let mut options = Options::default();
        let seed = trace.events.iter().map(|event| u64::from(event.operand())).sum::<u64>();
        (options.instances, options.window) = (0, 2 + seed % 20);
        let expected = within(&reversal_races(trace), options.window);
        find_with("short-osr", &options, trace, |findings| agree(findings, &expected))
    });
}

#[test]
fn m2_finds_all_predictable_races_of_two_threads() {
    let shapes: Vec<_> = shapes(15).into_iter().map(|shape| Shape { threads: 2, ..shape }).collect();
    for_each_random_trace(&shapes, random_traces(4_000), |trace| {
        find("m2", trace, |findings| agree(findings, &predictable_races(trace)))
    });
}

#[test]
fn m2_reports_predictable_races_only_and_all_sync_preserving_ones() {
    for_each_random_trace(&shapes(15), random_traces(4_000), |trace| {
        let predictable = predictable_races(trace);
        find("m2", trace, |findings| {
            if let Some(pair) = pairs(findings).difference(&predictable).next() {
                return Err(format!("{pair:?} is not predictable"));
            }
            let found = findings.racy_events();
            match second_events(&sync_preserving_races(trace)).iter().find(|event| !found.contains(event)) {
                Some(event) => Err(format!("event {event} is missing")),
                None => Ok(()),
            }
        })
    });
}

#[test]
fn wcp_reports_exactly_the_accesses_that_the_weak_order_leaves_open() {
    for_each_random_trace(&shapes(32), random_traces(10_000), |trace| {
        let (expected, observed) = (weak_order_races(trace), happens_before_races(trace));
        let supported = reversal_races(trace);
        find("wcp", trace, |findings| {
            agree(findings, &expected)?;
            for group in findings.groups() {
                let race = group.example;
                let pair = Pair { first: race.first.at.index, second: race.second.at.index, var: race.var };
                let is_right = match race.verdict {
                    Verdict::Observed => observed.contains(&pair),
                    Verdict::Suspected => !supported.contains(&pair),
                    _ => true,
                };
                if !is_right {
                    return Err(format!("{pair:?} is not {:?}", race.verdict));
                }
            }
            Ok(())
        })
    });
}

#[test]
fn what_wcp_calls_predicted_is_predictable() {
    for_each_random_trace(&shapes(15), random_traces(4_000), |trace| {
        let predictable = predictable_races(trace);
        find("wcp", trace, |findings| {
            for group in findings.groups() {
                let race = group.example;
                let pair = Pair { first: race.first.at.index, second: race.second.at.index, var: race.var };
                if race.verdict == Verdict::Predicted && !predictable.contains(&pair) {
                    return Err(format!("{pair:?} is not predictable"));
                }
            }
            Ok(())
        })
    });
}

/// Traces on which published algorithms or well-known tools err.
#[test]
fn detectors_are_right_where_published_algorithms_err() {
    let cases: [(&str, &str, &[u64]); 6] = [
        // Sections of the thread itself are taken for those of others.
        ("wcp", "T0 w x; T0 acq l; T0 rel l; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x", &[7]),
        // The open section is not known.
        ("wcp", "T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x", &[]),
        // Locks are not released in the order in which they were taken.
        (
            "wcp",
            "T0 acq l; T0 w x; T0 acq m; T0 rel l; T0 rel m; T1 acq l; T1 r x; T1 rel l; T1 acq m; T1 rel m",
            &[],
        ),
        // A thread that is reached only through another is taken for one that is not reached.
        ("osr", "T0 acq l; T0 r y; T0 w x; T2 w y; T1 r y; T0 rel l; T1 acq l; T1 rel l; T1 w x", &[3, 4]),
        // The release after the second access is not used.
        ("osr", "T1 acq l; T1 r z; T1 rel l; T2 acq l; T2 w y; T3 r y; T3 w z; T2 rel l", &[5, 6]),
        ("osr", "T1 acq m; T1 w x; T1 rel m; T0 acq l; T0 w y; T2 r y; T0 acq m; T2 r x; T0 rel l", &[5, 7]),
    ];
    for (name, text, expected) in cases {
        let expected: Vec<_> = expected.iter().map(|&index| EventIndex(index)).collect();
        assert_eq!(find(name, &trace(text), Findings::racy_events), expected, "{name}: {text}");
    }
}

#[test]
fn pairs_that_are_not_judged_are_counted() {
    let text = "T0 acq l @1; T0 r y @2; T0 w x @3; T2 w y @4; T1 r y @5; T0 rel l @6; T1 acq l @7; T1 rel l @8; \
                T1 w x @9; T1 w x @9";
    let not_judged = |instances| {
        let mut options = Options::default();
        options.instances = instances;
        let entry = overtake_detect::find("osr").expect("in the table");
        crate::common::run(entry, &options, &trace(text), |job| {
            job.figures().iter().find(|(name, _)| *name == "pairs not judged").expect("a figure").1
        })
    };
    assert_eq!((not_judged(1), not_judged(0)), (1, 0));
}

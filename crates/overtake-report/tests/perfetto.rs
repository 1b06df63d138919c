//! Timelines: events that the Perfetto UI accepts.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use overtake_report::perfetto;
use overtake_report::result::{Report, SectionSpan, ThreadSpan, Timeline};
use serde_json::Value;
use support::{awkward, many, rendered, sample};

/// The sample, with the timeline of its run. Two critical sections overlap without nesting.
fn with_timeline() -> Report {
    let mut report = sample();
    let thread = |name: &str, from, to| ThreadSpan { name: name.into(), from, to };
    let section =
        |lock: &str, thread, from, to| SectionSpan { lock: lock.into(), shared: false, thread, from, to };
    report.runs[0].timeline = Some(Timeline {
        threads: vec![thread("main", 0, 18), thread("poller", 5, 17)],
        sections: vec![section("a", 0, 2, 6), section("b", 0, 4, 9), section("a", 1, 7, 8)],
        sections_left_out: 5,
    });
    report
}

/// Checks what the format demands: phases that are known, spans and arrows in pairs, slices of a lane that nest, arrows that end
/// within slices, lanes that have names.
#[track_caller]
fn checked(report: &Report) -> Vec<Value> {
    let document: Value = serde_json::from_slice(&rendered(perfetto::write, report)).expect("it is JSON");
    let events = document["traceEvents"].as_array().expect("there are events").clone();
    let mut slices: BTreeMap<(u64, u64), Vec<(u64, u64)>> = BTreeMap::new();
    let mut pairs: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    let mut named = BTreeSet::new();
    let mut moments = Vec::new();
    for event in &events {
        let number = |field: &str| event[field].as_u64().unwrap_or_else(|| panic!("{field} in {event}"));
        let lane = (number("pid"), number("tid"));
        match event["ph"].as_str().expect("it has a phase") {
            "M" => drop(named.insert(lane)),
            "X" => slices.entry(lane).or_default().push((number("ts"), number("ts") + number("dur"))),
            phase @ ("b" | "e" | "s" | "f") => {
                pairs.entry(number("id")).or_default().push(format!("{phase}{}", event["name"]));
                if matches!(phase, "s" | "f") {
                    moments.push((lane, number("ts")));
                }
            }
            other => panic!("unknown phase {other}"),
        }
    }
    for pair in pairs.values() {
        assert!(
            matches!(&pair[..], [begin, end] if begin[1..] == end[1..] && begin[..1] < end[..1] || begin[..1] == *"s"),
            "{pair:?}"
        );
    }
    for (lane, slices) in &mut slices {
        assert!(named.contains(lane), "{lane:?} has a name");
        slices.sort_by_key(|(from, to)| (*from, std::cmp::Reverse(*to)));
        let mut open: Vec<u64> = Vec::new();
        for (from, to) in slices.iter() {
            open.retain(|end| end > from);
            assert!(open.last().is_none_or(|end| to <= end), "slices of {lane:?} overlap");
            open.push(*to);
        }
    }
    for (lane, moment) in moments {
        assert!(
            slices[&lane].iter().any(|(from, to)| (from..to).contains(&&moment)),
            "an arrow ends nowhere"
        );
    }
    events
}

#[test]
fn the_sample_is_well_formed_and_as_it_was() {
    checked(&sample());
    support::assert_golden("sample.perfetto.json", &rendered(perfetto::write, &with_timeline()));
}

#[test]
fn overlapping_sections_are_asynchronous() {
    let events = checked(&with_timeline());
    let locks = events.iter().filter(|event| event["cat"] == "lock" && event["pid"] == 1);
    let spans: Vec<_> = locks
        .map(|event| {
            format!("{}{} {}", event["ph"].as_str().unwrap(), event["ts"], event["name"].as_str().unwrap())
        })
        .collect();
    assert_eq!(
        spans,
        [
            "b2 a held by main",
            "e7 a held by main",
            "b4 b held by main",
            "e10 b held by main",
            "b7 a held by poller",
            "e9 a held by poller"
        ]
    );
}

#[test]
fn without_a_timeline_held_locks_reach_to_the_access() {
    let events = checked(&sample());
    let span = |phase: &str| {
        let event = events.iter().find(|event| event["ph"] == phase && event["pid"] == 1).expect("a span");
        (event["ts"].as_u64().unwrap(), event["name"].as_str().unwrap().to_owned())
    };
    assert_eq!(span("b"), (7, "Cache::mutex held by poller".into()));
    assert_eq!(span("e"), (9, "Cache::mutex held by poller".into()));
}

#[test]
fn the_witness_is_shown_in_its_order() {
    let events = checked(&sample());
    // One run, then two processes for each finding: finding 2 has 5 and 6.
    let steps = |process: u64| {
        let mut steps: Vec<_> = events
            .iter()
            .filter(|event| event["ph"] == "X" && event["pid"] == process)
            .map(|event| (event["ts"].as_u64().unwrap(), event["name"].as_str().unwrap()))
            .collect();
        steps.sort();
        steps.into_iter().map(|(_, name)| name).collect::<Vec<_>>()
    };
    let ran = [
        "fork poller",
        "write a heap block",
        "acquire Cache::mutex",
        "release Cache::mutex",
        "acquire Cache::mutex",
        "read a heap block",
    ];
    assert_eq!(steps(5), ran);
    assert_eq!(steps(6), ["fork poller", "acquire Cache::mutex", "write a heap block", "read a heap block"]);
}

#[test]
fn damaged_results_are_shown_as_far_as_they_go() {
    checked(&awkward());
}

#[test]
fn many_schedules_are_limited_and_counted() {
    let report = many(300);
    let document: Value = serde_json::from_slice(&rendered(perfetto::write, &report)).expect("it is JSON");
    assert_eq!(document["otherData"]["schedules left out"], 50);
    assert_eq!(document["otherData"]["findings"], 300);
}

//! Detectors that look at a sample of a trace.

mod support;

use serde_json::Value;
use support::{Files, overtake, overtake_with_input};

/// Few enough windows that a small trace is not read as a whole.
const COARSE: [&str; 4] = ["--epsilon", "0.2", "--delta", "0.5"];

fn generate(file: &str, shape: &str, events: &str) {
    let arguments =
        ["gen", shape, "--events", events, "--threads", "3", "--locks", "2", "--variables", "500"];
    overtake(&[&arguments[..], &["-q", "-o", file]].concat()).expect_code(0);
}

fn rpt(file: &str, more: &[&str]) -> Value {
    let found = overtake(&[&["analyze", file, "-d", "rpt", "--json"], &COARSE[..], more].concat()).json();
    found["detectors"][0].clone()
}

fn figure(detector: &Value, name: &str) -> u64 {
    detector["figures"][name].as_u64().unwrap_or_else(|| panic!("no {name} in {detector}"))
}

#[test]
fn a_longer_trace_is_no_more_to_read() {
    let files = Files::new();
    let [short, long] = ["short.otr", "long.otr"].map(|name| files.path(name));
    generate(&short, "epsilon-far", "250k");
    generate(&long, "epsilon-far", "2500k");
    let [short, long] = [short, long].map(|file| rpt(&file, &[]));
    let grows = |name| figure(&long, name) as f64 / figure(&short, name) as f64;
    assert!(grows("bytes of the file") > 8.0);
    assert!(grows("bytes read") < 1.3, "{short}\n{long}");
    assert!(grows("events in windows") < 1.3, "{short}\n{long}");
    assert!(figure(&long, "events in windows") <= figure(&long, "k") * figure(&long, "r"));
    assert!(!long["racy_events"].as_array().expect("events").is_empty());
}

#[test]
fn text_and_pipes_are_counted_first_and_show_the_same() {
    let files = Files::new();
    let [sealed, text] = ["trace.otr", "trace.std"].map(|name| files.path(name));
    generate(&sealed, "epsilon-far", "250k");
    overtake(&["-q", "convert", &sealed, &text]).expect_code(0);
    let expected = rpt(&sealed, &["--seed", "7"]);
    assert_eq!(rpt(&text, &["--seed", "7"])["racy_events"], expected["racy_events"]);
    let arguments = [&["analyze", "-", "-d", "rpt", "--seed", "7"], &COARSE[..]].concat();
    let run = overtake_with_input(&arguments, &std::fs::read(&text).expect("it was written")).expect_code(66);
    assert!(run.stderr.contains("reading the whole trace once"), "{}", run.stderr);
    for part in
        ["m = 4T + 2h = ", "seed 7", "windows drawn", "again: overtake analyze - -d rpt --epsilon 0.2"]
    {
        assert!(run.text().contains(part), "no {part} in:\n{}", run.text());
    }
}

#[test]
fn a_clean_result_says_what_it_means() {
    let files = Files::new();
    let file = files.path("trace.otr");
    generate(&file, "fork-join", "250k");
    let run = overtake(&[&["analyze", &file, "-d", "rpt"], &COARSE[..]].concat()).expect_code(0);
    assert!(run.text().contains("no race found in a sample of 250,000 events"), "{}", run.text());
    assert!(run.text().contains("with a probability of at least 50.0000 %"), "{}", run.text());
}

#[test]
fn steps_end_with_a_race_or_with_the_budget() {
    let files = Files::new();
    let file = files.path("trace.otr");
    generate(&file, "epsilon-far", "250k");
    let run = overtake(&["analyze", &file, "-d", "rpt", "--until", "60s"]).expect_code(66);
    assert!(run.text().contains("  step 1 with epsilon = 0.1"), "{}", run.text());
    let tight = overtake(&["analyze", &file, "-d", "rpt", "--budget", "10"]).expect_code(2);
    assert!(tight.stderr.contains("expected time or a budget for at least"), "{}", tight.stderr);
    overtake(&["analyze", &file, "-d", "hb", "--budget", "1M"]).expect_code(2);
}

#[test]
fn predicted_races_of_windows_are_told_from_observed_ones() {
    let files = Files::new();
    let file = files.path("trace.otr");
    generate(&file, "lock-heavy", "250k");
    let races = rpt(&file, &["--judge", "short-syncp"])["races"].clone();
    let races = races.as_array().expect("races");
    assert!(
        races.iter().all(|race| ["observed", "predicted"].contains(&race["verdict"].as_str().unwrap_or("")))
    );
}

#[test]
fn a_rate_is_a_part() {
    let files = Files::new();
    let file = files.path("trace.otr");
    generate(&file, "lock-heavy", "10k");
    for arguments in [["pacer", "--rate", "0"], ["sampled-hb", "--rate", "1.5"], ["pacer", "--period", "0"]] {
        overtake(&[&["analyze", &file, "-d"], &arguments[..]].concat()).expect_code(2);
    }
    let found = |arguments: &[&str]| {
        let run = overtake(&[&["analyze", &file, "--json", "-d"], arguments].concat());
        run.json()["detectors"][0]["racy_events"].clone()
    };
    assert_eq!(found(&["pacer", "--rate", "1"]), found(&["hb"]));
    assert_eq!(found(&["sampled-hb", "--rate", "1"]), found(&["hb"]));
}

#[test]
fn compare_runs_them_all() {
    let files = Files::new();
    let file = files.path("trace.otr");
    generate(&file, "lock-heavy", "20k");
    let found = overtake(&["compare", &file, "--json"]).json();
    let names: Vec<_> =
        found["detectors"].as_array().expect("detectors").iter().map(|it| &it["name"]).collect();
    for name in ["pacer", "sampled-hb", "rpt"] {
        assert!(names.iter().any(|&found| found == name), "no {name} in {names:?}");
    }
}

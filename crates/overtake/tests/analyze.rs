//! `analyze` and `compare` on small traces.

mod support;

use serde_json::Value;
use support::{Files, RACY, expect_golden, overtake, overtake_with_input, race_free, without, without_times};

#[test]
fn races_are_exit_code_66_and_none_is_0() {
    let files = Files::new();
    overtake(&["analyze", &files.write("racy.std", RACY)]).expect_code(66);
    overtake(&["analyze", &files.write("clean.std", race_free())]).expect_code(0);
    overtake(&["compare", &files.path("racy.std")]).expect_code(66);
}

#[test]
fn the_text_names_both_accesses() {
    let run = overtake_with_input(&["analyze", "-"], RACY.as_bytes()).expect_code(66);
    expect_golden("analyze.txt", &run.text());
    assert!(!run.text().contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn a_clean_trace_is_said_to_be_clean() {
    let run = overtake_with_input(&["analyze", "-"], race_free().as_bytes()).expect_code(0);
    expect_golden("analyze_clean.txt", &run.text());
}

#[test]
fn a_race_that_needs_two_sections_swapped_is_predicted_by_default() {
    let swapped = "T1|acq(l)|1\nT1|w(x)|2\nT1|rel(l)|3\nT2|acq(l)|4\nT2|rel(l)|5\nT2|w(x)|6\n";
    let text = overtake_with_input(&["analyze", "-q", "-"], swapped.as_bytes()).expect_code(66).text();
    assert!(text.contains("predicted race on x"), "{text}");
    overtake_with_input(&["analyze", "-q", "-", "-d", "hb,syncp,deadlock"], swapped.as_bytes())
        .expect_code(0);
    let long = overtake(&["analyze", "--help"]).expect_code(0).text();
    let long = long.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(long.contains("on long traces hb, short-syncp, short-osr and deadlock"), "{long}");
}

#[test]
fn the_json_form_is_the_documented_one() {
    let run = overtake_with_input(&["analyze", "-", "--json"], RACY.as_bytes()).expect_code(66);
    let mut document = run.json();
    // How much state a detector needs may change.
    without(&mut document, &["seconds", "peak_state_bytes"]);
    expect_golden("analyze.json", &format!("{document:#}\n"));
    check_shape(&run.json());
}

/// Every field of `docs/json.md`, with its type.
fn check_shape(document: &Value) {
    assert_eq!(document["schema"], 1);
    assert!(document["trace"].is_object() && document["seconds"].is_f64());
    for detector in document["detectors"].as_array().expect("detectors") {
        for list in ["racy_events", "racy_variables", "racy_locations", "races"] {
            assert!(detector[list].is_array(), "{list} in {detector}");
        }
        for number in ["location_pairs", "max_distance", "events_read", "peak_state_bytes"] {
            assert!(detector[number].is_u64(), "{number} in {detector}");
        }
        assert!(
            detector["name"].is_string() && detector["promise"].is_string() && detector["seconds"].is_f64()
        );
        for race in detector["races"].as_array().expect("races") {
            check_race(race);
        }
    }
}

fn check_race(race: &Value) {
    assert!(race["id"].is_u64() && race["count"].is_u64() && race["variable"].is_string(), "{race}");
    assert!(
        ["observed", "predicted", "suspected"].contains(&race["verdict"].as_str().expect("a word")),
        "{race}"
    );
    for access in [&race["first"], &race["second"]] {
        assert!(
            access["index"].is_u64() && access["thread"].is_string() && access["op"].is_string(),
            "{race}"
        );
        assert!(access["location"].is_string() || access["location"].is_null(), "{race}");
    }
}

#[test]
fn every_detector_runs_and_reports_itself() {
    let arguments = ["compare", "-", "--json", "--rate", "1"]; // nothing is left to chance
    let run = overtake_with_input(&arguments, RACY.as_bytes()).expect_code(66);
    check_shape(&run.json());
    let names: Vec<_> = run.json()["detectors"].as_array().expect("detectors").clone();
    let names: Vec<_> =
        names.iter().map(|detector| detector["name"].as_str().expect("a name").to_owned()).collect();
    let known: Vec<_> = overtake_detect::DETECTORS.iter().map(|entry| entry.name).collect();
    assert_eq!(names, known);
    for (detector, entry) in
        run.json()["detectors"].as_array().expect("detectors").iter().zip(overtake_detect::DETECTORS)
    {
        let may_find_none = entry.promise == overtake_detect::Promise::Sampled
            || entry.notion == overtake_detect::Notion::Deadlock;
        let may_miss = may_find_none && detector["racy_variables"] == serde_json::json!([]);
        assert!(may_miss || detector["racy_variables"] == serde_json::json!(["counter"]), "{detector}");
    }
}

#[test]
fn the_table_has_one_row_per_detector() {
    let run = overtake_with_input(&["compare", "-"], RACY.as_bytes()).expect_code(66);
    for entry in overtake_detect::DETECTORS {
        let row =
            run.text().lines().find(|line| line.starts_with(&format!("{} ", entry.name))).map(str::to_owned);
        assert!(row.is_some_and(|row| row.contains(entry.promise.describe())), "{}", run.text());
    }
}

#[test]
fn several_detectors_share_one_reading() {
    let names: Vec<_> = overtake_detect::DETECTORS.iter().map(|entry| entry.name).collect();
    let run = overtake_with_input(&["analyze", "-", "--json", "-d", &names.join(",")], RACY.as_bytes());
    assert_eq!(run.expect_code(66).json()["detectors"].as_array().map(Vec::len), Some(names.len()));
}

#[test]
fn same_trace_same_bytes() {
    let files = Files::new();
    let trace = files.path("t.otr");
    overtake(&["gen", "mixed", "--events", "20000", "--seed", "7", "-o", &trace]).expect_code(0);
    let runs = [0; 2].map(|_| {
        let text = overtake(&["analyze", &trace]).text();
        let mut document = overtake(&["compare", &trace, "--json"]).json();
        without_times(&mut document);
        (text, document.to_string())
    });
    assert_eq!(runs[0], runs[1]);
}

#[test]
fn indices_survive_repairs() {
    let broken = RACY.replace("T0|w(counter)", "T0|rel(m)|main.c:7\nT0|w(counter)");
    let run = overtake_with_input(&["analyze", "-", "--json"], broken.as_bytes()).expect_code(66);
    let document = run.json();
    assert_eq!(document["trace"]["repairs"]["unheld-release"], 1);
    assert_eq!(document["detectors"][0]["races"][0]["first"]["index"], 5);
    assert!(run.stderr.contains("repaired: 1 "), "{}", run.stderr);
    let strict = overtake_with_input(&["analyze", "-", "--strict"], broken.as_bytes()).expect_code(1);
    assert!(
        strict.stderr.contains("standard input: line 6, column 1: lock `m` released"),
        "{}",
        strict.stderr
    );
}

#[test]
fn quiet_leaves_only_results() {
    let run = overtake_with_input(&["analyze", "-", "--quiet"], RACY.as_bytes()).expect_code(66);
    assert_eq!(run.stderr, "");
}

#[test]
fn the_limit_hides_and_says_so() {
    let mut trace = String::from("T0|fork(T1)|1\n");
    (0..5).for_each(|at| trace += &format!("T0|w(x{at})|a{at}\nT1|w(x{at})|b{at}\n"));
    let run =
        overtake_with_input(&["analyze", "-", "-d", "hb", "--limit", "2"], trace.as_bytes()).expect_code(66);
    assert!(run.text().contains("... and 3 more causes; --limit 0 shows all"), "{}", run.text());
    let all =
        overtake_with_input(&["analyze", "-", "-d", "hb", "--limit", "0"], trace.as_bytes()).expect_code(66);
    assert_eq!(all.text().matches("observed race on").count(), 5, "{}", all.text());
}

#[test]
fn the_first_finding_is_told_with_how_far_the_trace_was_read() {
    let trace = "T0|w(x)|1\nT1|w(x)|2\n";
    let first = overtake_with_input(&["analyze", "--first", "-"], trace.as_bytes()).expect_code(66).text();
    let note = "stopped: nothing was looked for after the first 2 events (--first)";
    assert!(first.contains(note), "{first}");
    let all = overtake_with_input(&["analyze", "-"], trace.as_bytes()).expect_code(66).text();
    assert!(!all.contains("stopped"), "{all}");
}

//! `overtake witness`: schedules of predicted races.

mod support;

use support::{Files, overtake, overtake_with_input};

/// T0 writes `x` before a section of `m`, T1 reads it after one: ordered in the run, not in every schedule of it.
const LUCKY_ORDER: &str = "\
T0|fork(T1)|main.c:3
T0|w(x)|main.c:5
T0|acq(m)|main.c:6
T0|w(y)|main.c:7
T0|rel(m)|main.c:8
T1|acq(m)|worker.c:8
T1|r(z)|worker.c:9
T1|rel(m)|worker.c:10
T1|r(x)|worker.c:11
";

#[test]
fn a_witness_is_shown_in_columns() {
    let run = overtake_with_input(&["witness", "-", "--race", "1"], LUCKY_ORDER.as_bytes()).expect_code(66);
    let text = run.text();
    assert!(text.starts_with("1. predicted race on x\n"), "{text}");
    assert!(text.contains("event  T0                  T1\n"), "{text}");
    assert!(text.contains("overtakes T0 at event 2"), "{text}");
    assert!(text.contains("In the run T0 held `m` (event 2) before T1 did (event 5)"), "{text}");
    let order: Vec<_> =
        text.lines().filter_map(|line| line.split_whitespace().next()?.parse::<u32>().ok()).collect();
    assert_eq!(order, [0, 5, 6, 7, 1, 8]);
}

#[test]
fn json_has_the_whole_schedule() {
    let run = overtake_with_input(&["witness", "-", "--race", "1.", "--json"], LUCKY_ORDER.as_bytes());
    let json = run.expect_code(66).json();
    assert_eq!(json["verified"], true);
    assert_eq!(json["race"]["verdict"], "predicted");
    let steps = json["steps"].as_array().expect("steps");
    let order: Vec<_> = steps.iter().map(|step| step["index"].as_u64().expect("an index")).collect();
    assert_eq!(order, [0, 5, 6, 7, 1, 8]);
    assert_eq!(json["overtaken"][0]["lock"], "m");
}

#[test]
fn the_reordered_run_is_a_trace_that_exhibits_the_race() {
    let files = Files::new();
    let path = &files.path("witness.std");
    overtake_with_input(&["witness", "-", "--race", "1", "--std", path], LUCKY_ORDER.as_bytes())
        .expect_code(66);
    overtake(&["validate", "--strict", path]).expect_code(0);
    let json = overtake(&["analyze", path, "-d", "hb", "--json"]).expect_code(66).json();
    assert_eq!(json["detectors"][0]["racy_variables"], serde_json::json!(["x"]));
}

#[test]
fn a_number_that_is_no_race_is_refused() {
    let run = overtake_with_input(&["witness", "-", "--race", "7"], LUCKY_ORDER.as_bytes()).expect_code(2);
    assert!(run.stderr.contains("expected a number from 1 to 1"), "{}", run.stderr);
    let run = overtake_with_input(&["witness", "-", "--race", "1"], b"T0|w(x)|1\n").expect_code(2);
    assert!(run.stderr.contains("the report has no races"), "{}", run.stderr);
    overtake_with_input(&["witness", "-", "--race", "one"], b"").expect_code(2);
    overtake_with_input(&["witness", "-", "--race", "1", "-d", "hb"], b"").expect_code(2);
}

/// The report numbers the observed race first; `syncp` alone would number them in the order of discovery.
#[test]
fn races_have_the_numbers_and_fingerprints_of_the_report() {
    let files = Files::new();
    let trace = files.write("both.std", format!("{LUCKY_ORDER}T0|w(u)|main.c:20\nT1|w(u)|worker.c:20\n"));
    let result = files.path("races.json");
    overtake(&["analyze", &trace, "--report", &format!("result={result}")]).expect_code(66);
    let stored: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(&result).expect("a result")).expect("JSON");
    let findings = stored["findings"].as_array().expect("findings");
    let lucky = findings.iter().find(|finding| finding["verdict"] == "predicted").expect("a predicted race");
    assert_eq!(lucky["id"], 2, "{stored}");
    let fingerprint = lucky["fingerprint"].as_str().expect("a text");
    for race in ["2", &fingerprint[..8]] {
        let witness = overtake(&["witness", &trace, "--race", race]).expect_code(66).text();
        assert!(witness.starts_with("2. predicted race on x\n"), "{witness}");
        for input in [&trace, &result] {
            let explained = overtake(&["explain", input, race]).expect_code(66).text();
            assert!(explained.starts_with("2. predicted race on x"), "{explained}");
        }
    }
}

#[test]
fn full_shows_every_event() {
    let mut text = String::new();
    for _ in 0..20 {
        text.push_str("T0|w(p)|a\nT0|w(q)|b\n");
    }
    text.push_str(LUCKY_ORDER);
    let short = overtake_with_input(&["witness", "-", "--race", "1"], text.as_bytes()).expect_code(66).text();
    let full = overtake_with_input(&["witness", "-", "--race", "1", "--full"], text.as_bytes())
        .expect_code(66)
        .text();
    assert!(short.contains("events") && short.contains("--full shows every event"), "{short}");
    assert_eq!(full.matches("write q (b)").count(), 20, "{full}");
    assert!(!full.contains("..."), "{full}");
}

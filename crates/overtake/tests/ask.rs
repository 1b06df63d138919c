//! Questions about two accesses, on the command line.

mod support;

use support::{Files, overtake};

const TRACE: &str = "\
T0|w(x)|main.c:1
T0|acq(l)|main.c:2
T0|rel(l)|main.c:3
T1|acq(l)|worker.c:4
T1|rel(l)|worker.c:5
T1|w(x)|worker.c:6
T0|w(y)|main.c:7
";

#[test]
fn a_predicted_race_is_told_with_the_lock_that_hides_it_and_with_its_schedule() {
    let files = Files::new();
    let trace = files.write("run.std", TRACE);
    let text = overtake(&["ask", &trace, "--pair", "5,0"]).expect_code(66).text();
    for words in [
        "events 0 and 5: a race",
        "event 2 (T0, main.c:3)  releases l before it is acquired by  event 3 (T1, worker.c:4)",
        "sync-preserving  a reordering brings them side by side: predicted",
        "checked: an independent checker replayed it as a correct reordering of the run",
    ] {
        assert!(text.contains(words), "no {words} in:\n{text}");
    }
}

#[test]
fn accesses_that_do_not_conflict_are_no_race() {
    let files = Files::new();
    let trace = files.write("run.std", TRACE);
    let text = overtake(&["ask", &trace, "--pair", "0,6"]).expect_code(0).text();
    assert!(text.contains("no conflicting accesses of different threads"), "{text}");
    overtake(&["ask", &trace, "--pair", "0,60"]).expect_code(1);
    overtake(&["ask", &trace, "--pair", "3"]).expect_code(2);
}

#[test]
fn one_event_is_asked_about_with_all_that_it_conflicts_with() {
    let files = Files::new();
    let trace = files.write("run.std", TRACE);
    let json = overtake(&["ask", &trace, "--event", "5", "--json"]).expect_code(66).json();
    assert_eq!(json["answers"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["answers"][0]["sync_preserving"], true);
    assert_eq!(json["answers"][0]["happens_before"][0]["from"]["index"], 2);
    let json = overtake(&["ask", &trace, "--event", "5", "--thread", "T7", "--json"]).expect_code(0).json();
    assert_eq!(json["answers"].as_array().map(Vec::len), Some(0));
    overtake(&["ask", &trace, "--event", "3"]).expect_code(2);
}

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

#[test]
fn a_certificate_is_made_and_checked() {
    let files = Files::new();
    let proof = files.path("proof.txt");
    let locked = "T0|acq(l)|1\nT0|w(x)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|w(x)|5\nT1|rel(l)|6\nT1|w(y)|7\n";
    let trace = files.write("locked.std", locked);
    overtake(&["certify", &trace, "-o", &proof]).expect_code(0);
    let text = std::fs::read_to_string(&proof).expect("a certificate");
    assert_eq!(text, "overtake certificate 1: lock-set\nlock 0 0 # x: l\nno-conflict 1 # y\n");
    let run = overtake(&["certify", &trace, "--check", &proof]).expect_code(0);
    assert_eq!(run.text(), "the certificate holds: no variable has a lock-set race\n");

    let open = files.write("open.std", format!("{locked}T1|w(x)|8\n"));
    let run = overtake(&["certify", &open, "--check", &proof]).expect_code(1);
    assert!(
        run.stderr.contains("the certificate does not hold: event 7 accesses x without l"),
        "{}",
        run.stderr
    );
    let run = overtake(&["certify", &open]).expect_code(66);
    assert_eq!(run.text(), "overtake certificate 1: lock-set\nrace 0 # x\n");
    std::fs::write(&proof, run.text()).expect("a file");
    let run = overtake(&["certify", &open, "--check", &proof]).expect_code(66);
    assert_eq!(run.text(), "the certificate holds: x has a lock-set race\n");
    overtake(&["certify", &trace, "--check", &proof]).expect_code(1);

    std::fs::write(&proof, "overtake certificate 1: lock-set\nlock 4000000000 0\n").expect("a file");
    let run = overtake(&["certify", &trace, "--check", &proof]).expect_code(1);
    assert!(run.stderr.contains("line 2: expected a line of a certificate"), "{}", run.stderr);
}

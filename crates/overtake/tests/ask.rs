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
    overtake(&["ask", &trace, "--pair", "3"]).expect_code(2);
}

/// Two sections of a lock are kept apart by a read of what another thread wrote; two by a fork; two under one lock.
#[test]
fn every_notion_says_why_two_accesses_are_no_race() {
    let files = Files::new();
    let circle = "T0|acq(l)|1\nT0|r(y)|2\nT0|w(x)|3\nT2|w(y)|4\nT1|r(y)|5\nT0|rel(l)|6\nT1|acq(l)|7\nT1|rel(l)|8\nT1|w(x)|9\n";
    let twice = "T0|acq(l)|1\nT0|w(x)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|w(x)|5\n";
    let forked = "T0|w(x)|1\nT0|fork(T1)|2\nT1|w(x)|3\n";
    let cases = [
        (
            circle,
            "2,8",
            "\
  sync-reversal    no: what has to come before what is a circle:
    event 0 (T0, 1)  comes in its thread before  event 1 (T0, 2)
    event 1 (T0, 2)  accesses y, and keeps its place before  event 3 (T2, 4)
    event 3 (T2, 4)  accesses y, and keeps its place before  event 4 (T1, 5)
    event 4 (T1, 5)  comes in its thread before  event 7 (T1, 8)
    event 7 (T1, 8)  releases l before it is acquired, and kept, by  event 0 (T0, 1)
  saturation       no: what has to come before what is a circle:
    event 7 (T1, 8)  releases l before it is acquired, and kept, by  event 0 (T0, 1)
    event 0 (T0, 1)  comes in its thread before  event 1 (T0, 2)
    event 1 (T0, 2)  must come, for reads of y to see what they saw, before  event 3 (T2, 4)
    event 3 (T2, 4)  writes y, which is read by  event 4 (T1, 5)
    event 4 (T1, 5)  comes in its thread before  event 7 (T1, 8)
  weak order       does not order them, which alone is a suspicion
",
        ),
        (
            twice,
            "1,4",
            "\
  sync-reversal    no: l would be held twice:
    event 0 (T0, 1) acquires l, and can release it only after one of the two:
      event 1 (T0, 2)  comes in its thread before  event 2 (T0, 3)
    event 3 (T1, 4) acquires l, and the trace does not release it
  saturation       no, for the same reason as sync-reversal
  weak order       orders them:
    event 1 (T0, 2)  comes in its thread before  event 2 (T0, 3)
    event 2 (T0, 3)  releases l after a conflict with  event 4 (T1, 5)
",
        ),
        (
            forked,
            "0,2",
            "\
  sync-reversal    no, by the same chain
  saturation       no, for the same reason as sync-reversal
  weak order       orders them:
    event 0 (T0, 1)  comes in its thread before  event 1 (T0, 2)
    event 1 (T0, 2)  forks the thread of  event 2 (T1, 3)
",
        ),
    ];
    for (trace, pair, expected) in cases {
        let trace = files.write("run.std", trace);
        let text = overtake(&["ask", &trace, "--pair", pair]).expect_code(0).text();
        assert!(text.ends_with(expected), "expected\n{expected}\nat the end of\n{text}");
        let json = overtake(&["ask", &trace, "--pair", pair, "--json"]).expect_code(0).json();
        let answer = &json["answers"][0];
        let kind = match pair {
            "2,8" => "circle",
            "1,4" => "both open",
            _ => "needed",
        };
        assert_eq!(answer["sync_reversal_obstacle"]["kind"], kind, "{answer}");
        assert_eq!(answer["saturation_obstacle"]["kind"], kind, "{answer}");
        assert_eq!(answer["weak_chain"].is_null(), pair == "2,8", "{answer}");
    }
}

#[test]
fn one_event_is_asked_about_with_all_that_it_conflicts_with() {
    let files = Files::new();
    let trace = files.write("run.std", TRACE);
    let json = overtake(&["ask", &trace, "--event", "5", "--json"]).expect_code(66).json();
    assert_eq!(json["answers"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["answers"][0]["sync_preserving"], true);
    assert_eq!(json["answers"][0]["happens_before"][0]["from"]["index"], 2);
    let json = overtake(&["ask", &trace, "--event", "5", "--thread", "T1", "--json"]).expect_code(0).json();
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

/// Numbers and names that the trace does not have, and events that are no accesses.
#[test]
fn a_question_that_has_no_answer_is_refused_with_the_reason() {
    let files = Files::new();
    let trace = files.write("run.std", TRACE);
    let cases: [(&[&str], &str); 6] = [
        (&["--pair", "0,60"], "expected an event below 7, where the trace ends, found 60"),
        (&["--event", "60"], "expected an event below 7, where the trace ends, found 60"),
        (&["--event", "1"], "expected an access at event 1, found acquire"),
        (&["--event", "5", "--thread", "T9"], "expected a thread of the trace after --thread, found T9"),
        (&["--pair", "0,5", "--thread", "T0"], "cannot be used with '--thread <NAME>'"),
        (&[], "<--pair <I,J>|--event <I>>"),
    ];
    for (question, reason) in cases {
        let arguments: Vec<&str> = ["ask", &trace].into_iter().chain(question.iter().copied()).collect();
        let run = overtake(&arguments).expect_code(2);
        assert!(run.stderr.contains(reason), "no {reason} in:\n{}", run.stderr);
    }
}

#[test]
fn the_number_of_partners_is_told_for_the_thread_that_was_asked_about() {
    let files = Files::new();
    let trace = files.write("run.std", "T0|w(x)|1\nT1|w(x)|2\nT2|w(x)|3\n");
    let said = |more: &[&str]| {
        let arguments: Vec<&str> =
            ["ask", &trace, "--event", "0"].into_iter().chain(more.iter().copied()).collect();
        overtake(&arguments).expect_code(66).stderr
    };
    assert!(said(&[]).contains("2 accesses conflict with event 0\n"));
    assert!(said(&["--thread", "T2"]).contains("1 access of T2 conflicts with event 0\n"));
    let limited = said(&["--limit", "1"]);
    assert!(limited.contains("event 0; the nearest is answered, --limit 2 answers all\n"), "{limited}");
}

#[test]
fn a_certificate_of_happens_before_is_made_and_checked() {
    let files = Files::new();
    let proof = files.path("proof.txt");
    let locked = "T0|w(x)|1\nT0|acq(l)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|w(x)|5\nT1|rel(l)|6\n";
    let trace = files.write("locked.std", locked);
    let notion = ["--notion", "happens-before"];
    overtake(&["certify", &trace, notion[0], notion[1], "-o", &proof]).expect_code(0);
    let text = std::fs::read_to_string(&proof).expect("a certificate");
    assert_eq!(text, "overtake certificate 1: happens-before\npath 0 1\n");
    let run = overtake(&["certify", &trace, "--check", &proof]).expect_code(0);
    assert_eq!(run.text(), "the certificate holds: there is no happens-before race\n");

    let open = files.write("open.std", format!("{locked}T2|w(x)|7\n"));
    let run = overtake(&["certify", &open, "--check", &proof]).expect_code(1);
    let reason = "the certificate does not hold: no hub and no path says why event 4 happens before event 6";
    assert!(run.stderr.contains(reason), "{}", run.stderr);
    let run = overtake(&["certify", &open, notion[0], notion[1]]).expect_code(66);
    assert_eq!(run.text(), "overtake certificate 1: happens-before\nrace 4 6\n");
    std::fs::write(&proof, run.text()).expect("a file");
    let run = overtake(&["certify", &open, "--check", &proof]).expect_code(66);
    assert_eq!(run.text(), "the certificate holds: events 4 and 6 are a happens-before race\n");
    overtake(&["certify", &trace, "--check", &proof]).expect_code(1);

    std::fs::write(&proof, "overtake certificate 1: happens-before\npath\n").expect("a file");
    let run = overtake(&["certify", &trace, "--check", &proof]).expect_code(1);
    assert!(run.stderr.contains("line 2: expected a line of a certificate"), "{}", run.stderr);
}

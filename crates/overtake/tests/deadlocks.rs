//! Deadlocks, from a trace to every form of report.

mod support;

use support::{Files, overtake};

/// Two transfers between two accounts, in opposite directions.
const TRANSFERS: &str = "\
T0|fork(T1)|main.c:1
T0|acq(savings)|transfer.c:10
T0|acq(current)|transfer.c:11
T0|w(balance)|transfer.c:12
T0|rel(current)|transfer.c:13
T0|rel(savings)|transfer.c:14
T1|acq(current)|audit.c:20
T1|acq(savings)|audit.c:21
T1|rel(savings)|audit.c:23
T1|rel(current)|audit.c:24
T0|join(T1)|main.c:2
";

fn reported(format: &str) -> String {
    let files = Files::new();
    let trace = files.write("run.std", TRANSFERS);
    let out = files.path("report");
    let target = format!("{format}={out}");
    overtake(&["analyze", "-d", "deadlock", &trace, "--report", &target]).expect_code(66);
    String::from_utf8_lossy(&std::fs::read(out).expect("a report")).into_owned()
}

#[test]
fn a_deadlock_is_told_with_who_holds_and_waits_for_what() {
    let files = Files::new();
    let trace = files.write("run.std", TRANSFERS);
    let text = overtake(&["analyze", "-d", "deadlock", &trace]).expect_code(66).text();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "predicted deadlock",
        "savings, current: T0 waits for current while T1 waits for savings",
        "it was replayed and checked",
        "<- waits",
        "transfer.c:11",
        "audit.c:21",
    ] {
        assert!(text.contains(words), "no {words} in:\n{text}");
    }
}

/// As `std::scoped_lock` does: it waits for one lock and tries the others.
#[test]
fn locks_that_are_tried_are_in_no_deadlock() {
    let files = Files::new();
    let tried = TRANSFERS.replace("T0|acq(current)", "T0|tryacq(current)");
    let trace = files.write("tried.std", &tried);
    overtake(&["analyze", "-d", "deadlock", &trace]).expect_code(0);
    let sealed = files.path("tried.otr");
    overtake(&["convert", &trace, &sealed]).expect_code(0);
    overtake(&["analyze", "-d", "deadlock", &sealed]).expect_code(0);
    let back = overtake(&["convert", &sealed, "-", "--to", "std"]).expect_code(0).text();
    assert!(back.contains("tryacq(current)"), "{back}");
}

#[test]
fn the_lines_are_those_of_threadsanitizer() {
    let text = reported("tsan");
    for words in [
        "WARNING: ThreadSanitizer: lock-order-inversion (potential deadlock)",
        "Cycle in lock order graph: M0 (savings) => M1 (current) => M0 (savings)",
        "SUMMARY: ThreadSanitizer: lock-order-inversion (potential deadlock)",
    ] {
        assert!(text.contains(words), "no {words} in:\n{text}");
    }
}

#[test]
fn stored_results_have_the_schedule_that_leads_there() {
    let report: serde_json::Value = serde_json::from_str(&reported("json")).expect("JSON");
    let finding = &report["findings"][0];
    assert_eq!((&finding["kind"], &finding["rule"]), (&"deadlock".into(), &"deadlock".into()));
    let schedule = &finding["schedule"];
    let events = |position: &serde_json::Value| {
        schedule["steps"][position.as_u64().expect("a position") as usize]["event"]
            .as_u64()
            .expect("an event")
    };
    let witness: Vec<_> = schedule["witness"].as_array().expect("a witness").iter().map(events).collect();
    assert_eq!(witness, [1, 6, 2, 7]);
    assert_eq!(schedule["arrows"].as_array().map(Vec::len), Some(2));
    assert_eq!(schedule["arrows"][0]["kind"], "waits-for");
}

#[test]
fn other_tools_get_it_too() {
    let sarif: serde_json::Value = serde_json::from_str(&reported("sarif")).expect("JSON");
    assert_eq!(sarif["runs"][0]["results"][0]["ruleId"], "overtake/deadlock");
    assert!(reported("html").contains("<html"));
}

#[test]
fn suppressions_and_baselines_know_deadlocks() {
    let files = Files::new();
    let trace = files.write("run.std", TRANSFERS);
    let rules = files.write("known.supp", "deadlock:transfer.c\n");
    let run = overtake(&["analyze", "-d", "deadlock", &trace, "--suppressions", &rules]).expect_code(0);
    assert!(run.stderr.contains("1 finding suppressed by 1 rule"), "{}", run.stderr);
    assert!(run.text().contains("no new finding in "), "a deadlock is no race:\n{}", run.text());
    let races_only = files.write("other.supp", "race:transfer.c\n");
    overtake(&["analyze", "-d", "deadlock", &trace, "--suppressions", &races_only]).expect_code(66);
    let baseline = files.path("baseline.toml");
    overtake(&["baseline", "-d", "deadlock", &trace, "--out", &baseline]).expect_code(0);
    overtake(&["analyze", "-d", "deadlock", &trace, "--baseline", &baseline]).expect_code(0);
}

#[test]
fn json_names_the_acquires() {
    let files = Files::new();
    let trace = files.write("run.std", TRANSFERS);
    let json = overtake(&["analyze", "--json", "-d", "deadlock", &trace]).expect_code(66).json();
    let threads = &json["detectors"][0]["deadlocks"][0]["threads"];
    assert_eq!(threads[0]["holds"]["index"], 1);
    assert_eq!(threads[0]["waits_for"]["lock"], "current");
    assert_eq!(threads[1]["waits_for"]["location"], "audit.c:21");
}

#[test]
fn suspicions_have_no_schedule() {
    let files = Files::new();
    let trace = files.write("run.std", TRANSFERS);
    let text = overtake(&["analyze", "-d", "lock-order", &trace]).expect_code(66).text();
    assert!(text.contains("suspected deadlock") && !text.contains("replayed"), "{text}");
}

#[test]
fn the_schedule_that_leads_to_a_deadlock_is_shown_stored_and_well_formed() {
    let files = Files::new();
    let trace = files.write("run.std", TRANSFERS);
    let written = files.path("witness.std");
    let run = overtake(&["witness", &trace, "--race", "1", "--std", &written]).expect_code(66);
    let text = run.text();
    for words in [
        "1. predicted deadlock on savings, current\n",
        "After these 3 events of the run, in this order, each thread waits for the next one:",
        "held while it waits",
        "<- waits: T1 holds it",
        "<- waits: T0 holds it",
        "checked: an independent checker replayed it",
    ] {
        assert!(text.contains(words), "no {words} in:\n{text}");
    }
    overtake(&["validate", "--strict", &written]).expect_code(0);
    let json = overtake(&["witness", &trace, "--race", "1", "--json"]).expect_code(66).json();
    let steps = json["steps"].as_array().expect("steps").iter();
    let order: Vec<_> = steps.map(|step| step["index"].as_u64().expect("an index")).collect();
    assert_eq!(order, [0, 1, 6, 2, 7]);
    assert_eq!(json["deadlock"]["threads"][0]["waits_for"]["lock"], "current");
    assert!(json["race"].is_null());
}

#[test]
fn a_suspected_deadlock_has_no_schedule() {
    let files = Files::new();
    let trace = files.write("run.std", TRANSFERS);
    let run = overtake(&["witness", &trace, "--race", "1", "-d", "lock-order"]).expect_code(2);
    assert!(run.stderr.contains("deadlock 1 has no schedule: it is only suspected"), "{}", run.stderr);
}

/// A headline of many threads says who they are, not what each of them waits for.
#[test]
fn a_circle_of_many_threads_has_a_short_headline() {
    let files = Files::new();
    let circle = |threads: usize| {
        let part = |at: usize| {
            let next = (at + 1) % threads;
            format!("T{at}|acq(l{at})|1\nT{at}|acq(l{next})|2\nT{at}|rel(l{next})|3\nT{at}|rel(l{at})|4\n")
        };
        let trace = files.write("circle.std", (0..threads).map(part).collect::<String>());
        overtake(&["analyze", "-q", "-d", "deadlock", &trace]).expect_code(66).text()
    };
    let three = circle(3);
    assert!(three.contains("deadlock: l0, l1, l2: T0, T1, T2 wait for each other\n"), "{three}");
    let six = circle(6);
    let headline =
        "l0, l1, l2, l3 and 2 other locks: T0, T1, T2, T3 and 2 other threads wait for each other\n";
    assert!(six.contains(headline), "{six}");
}

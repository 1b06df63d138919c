//! Findings that are not races, in every format, and stored results of version 1, which had only races.

mod support;

use overtake_detect::Verdict;
use overtake_report::result::{
    Access, Confirmed, Finding, Frame, HeldLock, Kind, Report, Schedule, Section, Stand, Step,
};
use overtake_report::rules::RULES;
use overtake_report::triage::{self, Suppressions};
use overtake_report::{RENDERERS, find_renderer};
use support::{frame, report, thread};

fn rendered(name: &str, report: &Report) -> String {
    let mut out = Vec::new();
    let renderer = find_renderer(name).expect("a renderer");
    (renderer.write)(&mut out, report).expect("written into memory");
    String::from_utf8(out).expect("text")
}

fn access(operation: &str, object: &str, thread_name: &str, line: u32) -> Access {
    Access {
        operation: operation.into(),
        object: object.into(),
        event: u64::from(line),
        thread: thread(thread_name),
        stack: vec![frame("Account::transfer()", "src/bank.cc", line, 3)],
        ..Access::default()
    }
}

/// Two threads that take two locks in different orders.
fn deadlock() -> Finding {
    let waiting = |lock: &str, held: &str, thread_name: &str, line: u32| Access {
        held: vec![HeldLock {
            name: held.into(),
            shared: false,
            event: u64::from(line) - 1,
            taken_at: vec![frame("Account::lock()", "src/bank.cc", line - 1, 3)],
        }],
        ..access("lock", lock, thread_name, line)
    };
    let step = |thread, operand: &str, role| Step {
        thread,
        operation: "acquire".into(),
        operand: operand.into(),
        role,
        ..Step::default()
    };
    Finding {
        id: 1,
        fingerprint: "00000000dead0001".into(),
        kind: Kind::Deadlock,
        rule: "deadlock".into(),
        verdict: Verdict::Predicted,
        headline:
            "a, b: Account::transfer takes b while it holds a, Account::transfer takes a while it holds b"
                .into(),
        accesses: vec![waiting("b", "a", "T1", 20), waiting("a", "b", "T2", 30)],
        objects: vec!["a".into(), "b".into()],
        detectors: vec!["deadlock".into()],
        runs: vec![0],
        schedule: Some(Schedule {
            threads: vec!["T1".into(), "T2".into()],
            steps: vec![step(0, "a", None), step(0, "b", Some(0)), step(1, "b", None), step(1, "a", Some(1))],
            witness: vec![0, 2, 1, 3],
            sections: vec![Section { lock: "a".into(), from: Some(0), ..Section::default() }],
            ..Schedule::default()
        }),
        ..Finding::default()
    }
}

fn misuse(rule: &str) -> Finding {
    Finding {
        id: 2,
        fingerprint: "00000000dead0002".into(),
        kind: Kind::Misuse,
        rule: rule.into(),
        headline: "m: Account::transfer releases it, but T1 holds it".into(),
        accesses: vec![access("unlock", "m", "T2", 40), access("lock", "m", "T1", 10)],
        objects: vec!["m".into()],
        notes: vec!["The lock was created at src/bank.cc:3.".into()],
        runs: vec![0],
        ..Finding::default()
    }
}

#[test]
fn every_format_has_every_kind() {
    let mut findings: Vec<Finding> =
        RULES.iter().filter(|rule| rule.kind == Kind::Misuse).map(|rule| misuse(rule.id)).collect();
    findings.push(deadlock());
    let report = report(findings);
    for renderer in RENDERERS {
        let text = rendered(renderer.name, &report);
        assert!(text.contains("Account::transfer") || renderer.name == "html", "{}: {text}", renderer.name);
    }
}

#[test]
fn tools_for_thread_sanitizer_see_its_own_words() {
    for rule in RULES {
        let finding = match rule.kind {
            Kind::Race => Finding { rule: rule.id.into(), ..support::finding(1, Verdict::Observed) },
            Kind::Deadlock => deadlock(),
            Kind::Misuse => misuse(rule.id),
        };
        let text = rendered("tsan", &report(vec![finding]));
        let words = rule.tsan.replace("thread finished", "thread T2 finished"); // it names the thread
        let line = format!("WARNING: ThreadSanitizer: {words} (pid=");
        assert!(text.contains(&line), "{}: {text}", rule.id);
        assert!(text.contains(&format!("SUMMARY: ThreadSanitizer: {words} src/")), "{text}");
    }
    let text = rendered("tsan", &report(vec![deadlock()]));
    assert!(text.contains("Cycle in lock order graph: M0 (a) => M1 (b) => M0 (a)"), "{text}");
    assert!(text.contains("Mutex M1 acquired here while holding mutex M0 in thread T1:"), "{text}");
}

#[test]
fn a_deadlock_is_told_with_what_each_thread_waits_for() {
    let text = rendered("text", &report(vec![deadlock()]));
    for expected in [
        "1. predicted deadlock: a, b: Account::transfer takes b while it holds a",
        "lock of b by T1",
        "holds a, taken at Account::lock src/bank.cc:19:3",
        "lock of a by T2",
        "1 predicted deadlock in",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let text = rendered("text", &report(vec![misuse("unlock-of-unlocked")]));
    assert!(text.contains("observed release of a lock that the thread does not hold: m: "), "{text}");
    assert!(text.contains("note    The lock was created at src/bank.cc:3."), "{text}");
}

#[test]
fn rules_of_sarif_follow_the_kind() {
    let report = report(vec![support::finding(1, Verdict::Suspected), deadlock(), misuse("double-lock")]);
    let document: serde_json::Value = serde_json::from_str(&rendered("sarif", &report)).expect("JSON");
    let results = document["runs"][0]["results"].as_array().expect("results");
    let rules: Vec<_> = results.iter().map(|result| result["ruleId"].as_str().expect("a name")).collect();
    assert_eq!(rules, ["overtake/data-race", "overtake/deadlock", "overtake/double-lock"]);
    let levels: Vec<_> = results.iter().map(|result| result["level"].as_str().expect("a level")).collect();
    assert_eq!(levels, ["none", "error", "error"]);
    for result in results {
        let index = result["ruleIndex"].as_u64().expect("a position") as usize;
        assert_eq!(document["runs"][0]["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
}

#[test]
fn suppressions_are_about_their_own_kind() {
    let judged = |rules: &str| -> Vec<u32> {
        let mut report =
            report(vec![deadlock(), misuse("double-lock"), support::finding(3, Verdict::Observed)]);
        let rules = Suppressions::parse("rules", rules.as_bytes()).expect("good rules");
        triage::apply(&mut report, Some(&rules), None);
        let accepted = |finding: &&Finding| !matches!(finding.status, overtake_report::result::Status::New);
        report.findings.iter().filter(accepted).map(|finding| finding.id).collect()
    };
    assert_eq!(judged("deadlock:Account::transfer"), [1]);
    assert_eq!(judged("mutex:Account::transfer"), [2]);
    assert_eq!(judged("mutex:^m$"), [2]);
    assert_eq!(judged("race:Account::transfer"), [0; 0]);
    assert_eq!(judged("thread:*\nsignal:*"), [0; 0]);
}

#[test]
fn a_confirmed_finding_says_how_often_and_how_again() {
    let confirmed = Confirmed {
        ends: "SIGABRT".into(),
        seen: String::new(),
        stands: vec![Stand {
            thread: "T7".into(),
            operation: "write".into(),
            address: "0x7f00".into(),
            bytes: 4,
            stack: vec![Frame {
                function: "poll".into(),
                file: "server.c".into(),
                line: 12,
                ..Frame::default()
            }],
        }],
        met: 9,
        runs: 10,
        order: vec![1, 0],
        outcome: "exit code 134 instead of 0".into(),
        repeat: "overtake confirm races.json 1 -- ./server".into(),
    };
    let finding = Finding { confirmed: Some(confirmed), ..support::finding(1, Verdict::Predicted) };
    let report = report(vec![finding]);
    every_format_has("exit code 134 instead of 0", &report);
    every_format_has("overtake confirm races.json 1 -- ./server", &report);
    let text = rendered("text", &report);
    for expected in [
        "1. confirmed (ends with SIGABRT), predicted race on counters.hits",
        "the threads met in 9 of 10 runs; then: exit code 134 instead of 0",
        "T7 stood before its write of 4 bytes at 0x7f00 in poll server.c:12",
        "overtake confirm races.json 1 -- ./server",
        "1  confirmed",
        "1 predicted race (confirmed) in ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn every_format_says_why_a_finding_was_not_confirmed() {
    let note = "not confirmed in 5 runs: only server.c:12 was reached";
    let finding = Finding { notes: vec![note.into()], ..support::finding(1, Verdict::Predicted) };
    every_format_has(note, &report(vec![finding]));
}

/// Lines may be broken anywhere between words. The page is compressed; tests in a browser read it.
#[track_caller]
fn every_format_has(expected: &str, report: &Report) {
    for renderer in RENDERERS.iter().filter(|renderer| renderer.name != "html") {
        let text = rendered(renderer.name, report);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase();
        assert!(text.contains(expected), "{}: {text}", renderer.name);
    }
}

#[test]
fn what_was_seen_is_worse_than_what_was_predicted() {
    let suspected = Finding { verdict: Verdict::Suspected, ..support::finding(1, Verdict::Suspected) };
    let seen = Finding { confirmed: Some(Confirmed::default()), ..suspected.clone() };
    let form = |finding: &Finding| {
        let text = rendered("sarif", &report(vec![finding.clone()]));
        let sarif: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let result = &sarif["runs"][0]["results"][0];
        (result["kind"].clone(), result["level"].clone(), result["rank"].as_f64())
    };
    assert_eq!(form(&suspected), ("review".into(), "none".into(), Some(30.0)));
    assert_eq!(form(&seen), ("fail".into(), "error".into(), Some(100.0)));
}

#[test]
fn results_of_version_1_are_read() {
    let old = include_bytes!("golden/result-1.json");
    let report = Report::read(&old[..]).expect("a good result");
    let finding = &report.findings[0];
    assert_eq!((finding.kind, finding.rule.as_str()), (Kind::Race, "use-after-free"));
    let operations: Vec<_> = finding.accesses.iter().map(|access| access.operation.as_str()).collect();
    assert_eq!(operations, ["read", "free"]);
    let schedule = finding.schedule.as_ref().expect("it has one");
    let roles: Vec<_> = schedule.steps.iter().filter_map(|step| step.role).collect();
    assert_eq!(roles, [0, 1]);
    for renderer in RENDERERS {
        assert!(!rendered(renderer.name, &report).is_empty());
    }
    let mut stored = Vec::new();
    report.write(&mut stored).expect("written into memory");
    assert_eq!(Report::read(&stored[..]).expect("just written"), report);
}

#[test]
fn results_that_make_no_sense_are_refused() {
    let refused = |change: &dyn Fn(&mut serde_json::Value)| {
        let mut value = serde_json::to_value(report(vec![deadlock()])).expect("JSON");
        change(&mut value);
        Report::read(value.to_string().as_bytes()).expect_err("a bad result").to_string()
    };
    assert_eq!(refused(&|value| value["schema"] = 7.into()), "expected a result of version 2 or 1, found 7");
    assert_eq!(refused(&|value| *value = 7.into()), "expected a result, found no field `schema`");
    let without = refused(&|value| value["findings"][0]["accesses"] = serde_json::json!([]));
    assert_eq!(without, "finding 1: a deadlock with 0 accesses");
    let race = refused(&|value| {
        value["findings"][0]["kind"] = "race".into();
        value["findings"][0]["accesses"].as_array_mut().expect("a list").pop();
    });
    assert_eq!(race, "finding 1: a race with 1 accesses");
}

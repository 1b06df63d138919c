//! Races that are seen to happen when the program runs again.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::programs::{compiled, overtake, said, sources};
use tempfile::TempDir;

/// Detectors that leave hardly any race out, at the price of suspecting what is none.
const ALL: &str = "hb,syncp,lock-cover";

/// A program that was recorded, and the stored result.
struct Recorded {
    program: PathBuf,
    directory: TempDir,
}

impl Recorded {
    fn new(source: &Path) -> Recorded {
        let directory = tempfile::tempdir().expect("writable");
        let program = compiled(source, &directory);
        let recorded = Recorded { program, directory };
        let mut run = overtake();
        run.args(["run", "-d", ALL, "--report", &format!("result={}", recorded.result("found")), "--"]);
        let output = run.arg(&recorded.program).output().expect("it starts");
        assert!(matches!(output.status.code(), Some(0 | 66)), "{}", said(&output));
        recorded
    }

    fn result(&self, name: &str) -> String {
        self.directory.path().join(name).with_extension("json").display().to_string()
    }

    /// What `confirm` says, its exit code, and the findings as they are stored afterwards.
    fn confirm(&self, races: &[&str]) -> (String, Option<i32>, Vec<Value>) {
        let mut confirm = overtake();
        confirm.args(["confirm", &self.result("found")]).args(races);
        confirm.args(["--report", &format!("result={}", self.result("confirmed"))]);
        confirm.env("OVERTAKE_TEST_UNORDERED", "1");
        let output = confirm.output().expect("it starts");
        let text = format!("{}{}", said(&output), String::from_utf8_lossy(&output.stdout));
        (text, output.status.code(), self.findings("confirmed"))
    }

    fn findings(&self, name: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.result(name)).expect("a result");
        let result: Value = serde_json::from_str(&text).expect("JSON");
        result["findings"].as_array().expect("findings").clone()
    }
}

/// Whether both accesses of a finding are on lines that the source marks.
fn is_marked(finding: &Value, source: &Path) -> bool {
    let text = std::fs::read_to_string(source).expect("readable");
    let is_racy = |access: &Value| {
        let line = access["stack"][0]["line"].as_u64().unwrap_or(0) as usize;
        text.lines().nth(line.wrapping_sub(1)).is_some_and(|line| line.contains("/* race */"))
    };
    finding["accesses"].as_array().is_some_and(|accesses| accesses.iter().all(is_racy))
}

#[test]
fn hidden_races_are_seen_and_nothing_else() {
    let known = sources("tests/programs/race");
    let hidden = ["bare_then_locked.c", "lock_between.c", "logger.c", "relay.c", "rwlock.c"];
    let is_hidden = |path: &PathBuf| hidden.iter().any(|name| path.ends_with(name));
    for source in sources("tests/programs/meet").into_iter().chain(known.into_iter().filter(is_hidden)) {
        let recorded = Recorded::new(&source);
        let racy: Vec<String> = recorded
            .findings("found")
            .iter()
            .filter(|finding| is_marked(finding, &source))
            .map(|finding| finding["id"].to_string())
            .collect();
        assert!(!racy.is_empty(), "{} is not even suspected", source.display());
        let all: Vec<String> =
            recorded.findings("found").iter().map(|finding| finding["id"].to_string()).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let (text, code, findings) = recorded.confirm(&all);
        assert_eq!(code, Some(66), "{}: {text}", source.display());
        let confirmed: Vec<&Value> =
            findings.iter().filter(|finding| !finding["confirmed"].is_null()).collect();
        assert!(!confirmed.is_empty(), "{}: {text}", source.display());
        for finding in confirmed {
            assert!(is_marked(finding, &source), "{}: {text}", source.display());
        }
    }
}

#[test]
fn what_is_ordered_never_meets() {
    for source in sources("tests/programs/quiet") {
        let recorded = Recorded::new(&source);
        let found = recorded.findings("found");
        if found.is_empty() {
            continue;
        }
        // Where the discipline suspects dozens, a few of them stand for all.
        let all: Vec<String> = found.iter().take(2).map(|finding| finding["id"].to_string()).collect();
        let all: Vec<&str> =
            all.iter().map(String::as_str).chain(["--tries", "2", "--hold", "200ms"]).collect();
        let (text, code, findings) = recorded.confirm(&all);
        assert_eq!(code, Some(0), "{}: {text}", source.display());
        assert!(
            findings.iter().all(|finding| finding["confirmed"].is_null()),
            "{}: {text}",
            source.display()
        );
        assert!(text.contains("not confirmed in 2 runs: "), "{}: {text}", source.display());
    }
}

#[test]
fn what_cannot_be_run_again_is_said() {
    let files = support::Files::new();
    let trace = files.write("trace.std", "T0|fork(T1)|1\nT0|w(x)|2\nT1|w(x)|3\n");
    let result = files.path("result.json");
    let stored = format!("result={result}");
    support::overtake(&["analyze", &trace, "--report", &stored]).expect_code(66);
    let without_program = support::overtake(&["confirm", &result, "1"]).expect_code(2).stderr;
    assert!(without_program.contains("this result does not say what ran"), "{without_program}");
    let other = support::overtake(&["confirm", &result, "1", "--", "true"]).expect_code(2).stderr;
    assert!(other.contains("is no race of a recorded program"), "{other}");
    let observed = support::overtake(&["confirm", &result, "--", "true"]).expect_code(0).stderr;
    assert!(observed.contains("observed ones happened already"), "{observed}");
}

#[test]
fn sources_that_were_run_are_compiled_again() {
    let files = support::Files::new();
    let result = files.path("result.json");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/race/logger.c");
    let mut run = overtake();
    run.args(["run", "--report", &format!("result={result}"), source]);
    let output = run.output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let mut confirm = overtake();
    confirm.args(["confirm", &result]).env("OVERTAKE_TEST_UNORDERED", "1");
    let output = confirm.output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("confirmed in "), "{}", said(&output));
}

//! `overtake confirm`, `run --confirm` and `run --hunt` on compiled programs.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::path::{Path, PathBuf};

use serde_json::Value;
use support::programs::{compiled, overtake, said, sources};
use tempfile::TempDir;

/// Detectors that miss hardly any race, but also suspect pairs that are no races.
const ALL: &str = "hb,syncp,lock-cover";

/// A program that was recorded, and the stored result.
struct Recorded {
    program: PathBuf,
    directory: TempDir,
}

impl Recorded {
    fn new(source: &Path) -> Recorded {
        let recorded = Recorded::unrecorded(source);
        let (text, code) = recorded.run(&["-d", ALL]);
        assert!(matches!(code, Some(0 | 66)), "{text}");
        recorded
    }

    fn unrecorded(source: &Path) -> Recorded {
        let directory = tempfile::tempdir().expect("writable");
        let program = compiled(source, &directory);
        Recorded { program, directory }
    }

    /// What `run` with these options says, and its exit code; the result is stored.
    fn run(&self, options: &[&str]) -> (String, Option<i32>) {
        let mut run = overtake();
        run.arg("run").args(options).args(["--report", &format!("result={}", self.result("found")), "--"]);
        let output = run.arg(&self.program).output().expect("it starts");
        (said(&output), output.status.code())
    }

    fn result(&self, name: &str) -> String {
        self.directory.path().join(name).with_extension("json").display().to_string()
    }

    /// What `confirm` says, its exit code, and the findings as they are stored afterwards.
    fn confirm(&self, races: &[&str]) -> (String, Option<i32>, Vec<Value>) {
        let mut confirm = overtake();
        confirm.args(["confirm", &self.result("found")]).args(races);
        confirm.args(["--report", &format!("result={}", self.result("confirmed"))]);
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
        let recorded = Recorded::unrecorded(&source);
        let (text, code) = recorded.run(&["-d", ALL, "--unforked"]);
        assert!(matches!(code, Some(0 | 66)), "{text}");
        let found = recorded.findings("found");
        if found.is_empty() {
            continue;
        }
        let all: Vec<String> = found.iter().map(|finding| finding["id"].to_string()).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).chain(["--tries", "2"]).collect();
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

/// A program of the tests.
fn program(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name)
}

#[test]
fn a_run_confirms_at_once_what_it_predicts() {
    let recorded = Recorded::unrecorded(&program("race/lock_between.c"));
    let (text, code) = recorded.run(&["--confirm"]);
    assert_eq!(code, Some(66), "{text}");
    assert!(text.contains("1. confirmed, predicted race on shared"), "{text}");
    let confirmed = &recorded.findings("found")[0]["confirmed"];
    let stands = confirmed["stands"].as_array().expect("both stood somewhere");
    let functions: Vec<&Value> = stands.iter().map(|stand| &stand["stack"][0]["function"]).collect();
    assert_eq!(functions, ["first", "second"], "{confirmed}");
    assert_eq!(stands[0]["address"], stands[1]["address"], "{confirmed}");
    assert!(text.contains("stood before its write of 4 bytes at 0x"), "{text}");
    let again = confirmed["repeat"].as_str().expect("a command line");
    assert_eq!(
        again,
        format!(
            "overtake confirm {} {}",
            recorded.result("found"),
            recorded.findings("found")[0]["fingerprint"].as_str().unwrap()
        )
    );
}

#[test]
fn what_an_order_writes_is_compared_stream_by_stream() {
    let recorded = Recorded::unrecorded(&program("tells.c"));
    let outcome = |arguments: &[&str]| {
        let mut run = overtake();
        run.args(["run", "--confirm", "--report", &format!("result={}", recorded.result("found")), "--"]);
        let output = run.arg(&recorded.program).args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        let confirmed = &recorded.findings("found")[0]["confirmed"];
        confirmed["outcome"].as_str().expect("an outcome").to_owned()
    };
    let first = "with the read at ";
    for (stream, name) in [("1", "standard output"), ("2", "standard error")] {
        let outcome = outcome(&[stream]);
        let wanted = format!(" first, it writes something else to {name}");
        assert!(outcome.starts_with(first) && outcome.ends_with(&wanted), "{outcome}");
    }
    let outcome = outcome(&["2", "process"]);
    let wanted = " first, it writes something else to standard error; \
                  what it writes to standard output differs from run to run and is not compared";
    assert!(outcome.starts_with(first) && outcome.ends_with(wanted), "{outcome}");
}

#[test]
fn a_section_that_the_witness_takes_later_waits_from_the_first_run_on() {
    let recorded = Recorded::unrecorded(&program("meet/reversed_sections.c"));
    let (text, _) = recorded.run(&["-d", "osr"]);
    let found = recorded.findings("found");
    assert_eq!(found.len(), 1, "{text}");
    let reversal = &found[0]["schedule"]["reversals"][0];
    let line = |access: &str| reversal[access]["stack"][0]["line"].as_u64();
    assert_eq!((line("acquire"), line("release")), (Some(12), Some(23)), "{reversal}");
    let (text, code, findings) = recorded.confirm(&[]);
    assert_eq!(code, Some(66), "{text}");
    let confirmed = &findings[0]["confirmed"];
    assert_eq!((confirmed["met"].as_u64(), confirmed["runs"].as_u64()), (Some(1), Some(1)), "{text}");
    // Without the witness, the first run would have to learn it.
    let mut stored: Value =
        serde_json::from_str(&std::fs::read_to_string(recorded.result("found")).expect("a result"))
            .expect("JSON");
    stored["findings"][0]["schedule"] = Value::Null;
    std::fs::write(recorded.result("found"), stored.to_string()).expect("writable");
    let (_, code, findings) = recorded.confirm(&[]);
    assert_eq!(code, Some(66));
    let seen = |confirmed: &Value| confirmed["seen"].as_str().expect("what was seen").to_owned();
    assert!(!seen(&findings[0]["confirmed"]).contains("waited for the release at"), "{findings:?}");
}

#[test]
fn only_what_is_asked_for_fails_a_run() {
    let recorded = Recorded::unrecorded(&program("race/lock_between.c"));
    let (text, code) = recorded.run(&["--fail-on", "observed"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("1. predicted race on shared"), "{text}");
    let (text, code) = recorded.run(&["--fail-on", "observed,predicted"]);
    assert_eq!(code, Some(66), "{text}");
    let (text, code) = recorded.run(&["--fail-on", "confirmed"]);
    assert_eq!(code, Some(66), "{text}");
    assert!(text.contains("1. confirmed, predicted race on shared"), "{text}");
}

#[test]
fn a_hunt_reports_what_was_seen_and_nothing_else() {
    let recorded = Recorded::unrecorded(&program("meet/counting_logger.c"));
    let (text, code) = recorded.run(&["--hunt", "10"]);
    assert_eq!(code, Some(66), "{text}");
    let found = recorded.findings("found");
    assert_eq!(found.len(), 1, "{text}");
    assert!(is_marked(&found[0], &program("meet/counting_logger.c")), "{text}");
    assert!(!found[0]["confirmed"].is_null(), "{text}");
    let recorded = Recorded::unrecorded(&program("quiet/ready.c"));
    let (text, code) = recorded.run(&["--hunt", "10"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(recorded.findings("found").is_empty(), "{text}");
    assert!(text.contains("were not seen and are not reported"), "{text}");
}

#[test]
fn deadlocks_are_closed_and_the_program_ends() {
    for (name, threads) in
        [("crossed", 2), ("circle_of_three", 3), ("reader_and_writer", 2), ("two_tables", 2)]
    {
        let recorded = Recorded::unrecorded(&program(&format!("meet/deadlock/{name}.c")));
        let (text, code) = recorded.run(&["-d", "deadlock", "--confirm"]);
        assert_eq!(code, Some(66), "{name}: {text}");
        assert!(text.contains("1. confirmed, predicted deadlock"), "{name}: {text}");
        assert!(text.contains(" wanted the lock at 0x"), "{name}: {text}");
        assert!(text.contains("overtake: deadlock 1: "), "{name}: {text}");
        let confirmed = &recorded.findings("found")[0]["confirmed"];
        assert_eq!(confirmed["stands"].as_array().map(Vec::len), Some(threads), "{name}: {confirmed}");
    }
}

#[test]
fn a_changed_program_is_named() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("program.c");
    let text = std::fs::read_to_string(program("race/lock_between.c")).expect("readable");
    let text = text.replace("../hidden_order.h", &program("hidden_order.h").display().to_string());
    std::fs::write(&source, &text).expect("writable");
    let mut recorded = Recorded::unrecorded(&source);
    recorded.run(&[]);
    let (said, ..) = recorded.confirm(&[]);
    assert!(!said.contains("has changed"), "{said}");
    std::fs::write(&source, text.replace("int shared;", "int before = 7, shared;")).expect("writable");
    recorded.program = compiled(&source, &recorded.directory);
    let (said, ..) = recorded.confirm(&[]);
    let named = format!("{} has changed since it was recorded", recorded.program.display());
    assert!(said.contains(&named), "{said}");
}

#[test]
fn races_of_the_examples_are_seen_and_nothing_else() {
    // The lines that race, by example. Those of `reference_count` race by their memory order alone: the block is freed when the count says that the
    // other thread has read it, so that no schedule brings the two side by side.
    let known: [(&str, &[u64]); 5] = [
        ("logger.c", &[21, 30]),
        ("bank.c", &[15]),
        ("double_checked.cpp", &[15, 18, 20]),
        ("reference_count.cpp", &[]),
        ("queue.cpp", &[]),
    ];
    for (name, lines) in known {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name);
        let recorded = Recorded::unrecorded(&source);
        let (text, _) = recorded.run(&["-d", ALL, "--unforked"]);
        let found = recorded.findings("found");
        let all: Vec<String> = found.iter().map(|finding| finding["id"].to_string()).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).chain(["--tries", "3"]).collect();
        if all.len() == 2 {
            assert!(lines.is_empty(), "{name}: {text}");
            continue;
        }
        let (text, _, findings) = recorded.confirm(&all);
        let line = |access: &Value| access["stack"][0]["line"].as_u64().unwrap_or(0);
        let confirmed: Vec<&Value> =
            findings.iter().filter(|finding| !finding["confirmed"].is_null()).collect();
        assert_eq!(confirmed.is_empty(), lines.is_empty(), "{name}: {text}");
        for finding in confirmed {
            let accesses = finding["accesses"].as_array().expect("accesses");
            assert!(accesses.iter().all(|access| lines.contains(&line(access))), "{name}: {text}");
        }
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
    assert!(other.contains("of a recorded program, so it cannot be confirmed"), "{other}");
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
    confirm.args(["confirm", &result]);
    let output = confirm.output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("confirmed in "), "{}", said(&output));
}

#[test]
fn a_run_that_fails_is_no_wrong_usage() {
    let files = support::Files::new();
    let trace = files.write("trace.std", "T0|fork(T1)|1\nT0|w(x)|2\nT1|w(x)|3\n");
    let result = files.path("result.json");
    support::overtake(&["analyze", &trace, "--report", &format!("result={result}")]).expect_code(66);
    let setup = ["confirm", &result, "1", "--setup", "false", "--", "true"];
    let failed = support::overtake(&setup).expect_code(1).stderr;
    assert!(failed.contains("`false` failed"), "{failed}");
}

#[test]
fn what_is_around_a_program_is_there_again() {
    let recorded = Recorded::unrecorded(&program("surrounded.c"));
    let here = recorded.directory.path();
    let path = |name: &str| here.join(name).display().to_string();
    for (name, text) in [("recorded_here", ""), ("input", "hello"), ("elsewhere", "")] {
        std::fs::write(here.join(name), text).expect("writable");
    }
    assert!(std::process::Command::new("mkfifo").arg(path("ready")).status().expect("it starts").success());
    let [setup, teardown, client] = [
        format!("touch {}", path("prepared")),
        format!("rm {} && echo over >> {}", path("prepared"), path("log")),
        format!("cat {}", path("ready")),
    ];
    let around = ["--setup", &setup, "--teardown", &teardown, "--client", &client, "--stdin", &path("input")];
    let result = recorded.result("found");
    let mut run = overtake();
    run.arg("run").args(around).args(["--keep-environment", "--report", &format!("result={result}"), "--"]);
    run.arg(&recorded.program).env("OF_THE_RECORDING", "1").current_dir(here);
    let output = run.output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let mut confirm = overtake();
    confirm.args(["confirm", &result]).args(around).env_remove("OF_THE_RECORDING");
    confirm.args(["--report", &format!("result={}", recorded.result("confirmed"))]);
    let output = confirm.output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let confirmed = &recorded.findings("confirmed")[0]["confirmed"];
    let again = confirmed["repeat"].as_str().expect("a command line");
    assert!(again.ends_with(&format!("--client '{client}' --stdin {}", path("input"))), "{again}");
    // One recorded run, two undisturbed ones, at least one that met, and one for each order.
    let log = std::fs::read_to_string(here.join("log")).expect("a line for each run");
    assert!(log.lines().count() >= 6 && !here.join("prepared").exists(), "{log}");
    // Without the file that it reads, the program does not come to the race.
    let mut confirm = overtake();
    confirm.args(["confirm", &result]).args(&around[..6]);
    let output = confirm.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("neither access was reached"), "{}", said(&output));
}

/// Races only in its directory and with its variable, which no other process has.
const ELSEWHERE: &str = "#define main race
#include \"SOURCE\"
#undef main
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    FILE *file = fopen(\"elsewhere.c\", \"r\");
    if (!file || !getenv(\"OF_THE_RECORDING\")) return 1;
    fclose(file);
    return race();
}
";

#[test]
fn a_program_runs_again_where_and_as_it_was_recorded() {
    let files = support::Files::new();
    let source = program("race/lock_between.c").display().to_string();
    files.write("elsewhere.c", ELSEWHERE.replace("SOURCE", &source));
    let result = files.path("result.json");
    let mut run = overtake();
    run.args(["run", "--report", &format!("result={result}"), "elsewhere.c"]).current_dir(files.path(""));
    let output = run.env("OF_THE_RECORDING", "a secret").output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let stored = std::fs::read_to_string(&result).expect("a result");
    assert!(!stored.contains("secret") && !stored.contains("OF_THE_RECORDING"), "{stored}");
    for (arguments, code, words) in [
        (&["confirm", &result][..], 66, "with OF_THE_RECORDING as then"),
        (&["confirm", &result, "--here"], 1, "the compiler failed"),
    ] {
        let output = overtake().args(arguments).output().expect("it starts");
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(words), "{}", said(&output));
    }
}

#[test]
fn a_trace_leads_to_where_and_how_its_program_ran() {
    let files = support::Files::new();
    let source = program("race/lock_between.c").display().to_string();
    files.write("elsewhere.c", ELSEWHERE.replace("SOURCE", &source));
    let [built, traces, result] = ["elsewhere", "traces", "result.json"].map(|name| files.path(name));
    let mut compiler = overtake();
    compiler.args(["cc", "-g", &files.path("elsewhere.c"), "-o", &built, "-pthread"]);
    assert!(compiler.status().expect("it starts").success());
    let mut record = overtake();
    record.args(["record", "-o", &traces, "--", &built]).current_dir(files.path(""));
    let output = record.env("OF_THE_RECORDING", "a secret").output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let traces: Vec<_> =
        std::fs::read_dir(traces).expect("traces").map(|entry| entry.expect("one").path()).collect();
    let mut analyze = overtake();
    let output =
        analyze.arg("analyze").args(&traces).args(["--report", &format!("result={result}")]).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let output = overtake().args(["confirm", &result]).output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("with OF_THE_RECORDING as then"), "{}", said(&output));
}

#[test]
fn a_debugger_finds_both_threads_at_their_accesses() {
    use std::os::unix::fs::PermissionsExt;
    let recorded = Recorded::new(&program("race/lock_between.c"));
    // Stands for gdb: says what it was called with, and what the kernel says of the process.
    let debugger = recorded.directory.path().join("gdb");
    let log = recorded.directory.path().join("log").display().to_string();
    let script = "#!/bin/sh\necho called \"$@\"\ngrep ^State: /proc/$2/status\nls /proc/$2/task | wc -l\n";
    let script = format!("{script}echo debugger >> {log}\n");
    std::fs::write(&debugger, script).expect("writable");
    std::fs::set_permissions(&debugger, std::fs::Permissions::from_mode(0o755)).expect("writable");
    let mut confirm = overtake();
    let path = std::env::var("PATH").expect("a path");
    confirm.args(["confirm", &recorded.result("found"), "--gdb", "1"]);
    confirm.args([
        "--setup",
        &format!("echo before >> {log}"),
        "--teardown",
        &format!("echo after >> {log}"),
    ]);
    confirm.env("PATH", format!("{}:{path}", recorded.directory.path().display()));
    let output = confirm.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(66), "{text}{}", said(&output));
    assert!(said(&output).contains("both threads stand at their accesses; gdb -p "), "{}", said(&output));
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("called -p ") && lines[0].ends_with("frame function second"), "{text}");
    assert_eq!(lines[1..], ["State:\tT (stopped)", "3"], "{text}");
    let log = std::fs::read_to_string(log).expect("a line for each command");
    assert!(log.ends_with("before\ndebugger\nafter\n"), "{log}");
}

#[test]
fn a_baseline_does_not_hide_what_was_seen_since() {
    let recorded = Recorded::new(&program("race/lock_between.c"));
    let accepted = recorded.directory.path().join("accepted").display().to_string();
    let accept = |result: &str| {
        let output = overtake().args(["baseline", result, "-o", &accepted]).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    };
    accept(&recorded.result("found"));
    let (text, code) = recorded.run(&["--baseline", &accepted, "--fail-on", "predicted"]);
    assert_eq!(code, Some(0), "{text}");
    let (text, code) = recorded.run(&["--baseline", &accepted, "--fail-on", "confirmed"]);
    assert_eq!(code, Some(66), "{text}");
    assert!(text.contains("confirmed since it was accepted"), "{text}");
    accept(&recorded.result("found"));
    let (text, code) = recorded.run(&["--baseline", &accepted, "--fail-on", "confirmed"]);
    assert_eq!(code, Some(0), "{text}");
}

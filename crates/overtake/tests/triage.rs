//! Suppressions, baselines, and the reports that tools read, on the command line.

mod support;

use serde_json::Value;
use support::{Files, RACY, Run, command, expect_golden, overtake, overtake_with_input, race_free};

/// A second race, on `other`.
fn two_races() -> String {
    RACY.replace("T0|join(T1)", "T1|w(other)|worker.c:20\nT0|w(other)|main.c:21\nT0|join(T1)")
}

fn with_options(options: &str, arguments: &[&str]) -> Run {
    let output = command(arguments).env("TSAN_OPTIONS", options).output().expect("the program starts");
    Run {
        code: output.status.code().expect("the program is not killed"),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

#[test]
fn suppressed_races_fail_no_run_and_stale_rules_are_listed() {
    let files = Files::new();
    let trace = files.write("run.std", RACY);
    let rules = files.write("known.supp", "# counters may be off\nrace_pair:main.c <> worker.c\nrace:gone\n");
    let run = overtake(&["analyze", &trace, "--suppressions", &rules]).expect_code(0);
    assert!(run.stderr.contains("overtake: 1 race suppressed by 1 rule\n"), "{}", run.stderr);
    assert!(run.stderr.contains(&format!("unused suppression: race:gone ({rules}:3)")), "{}", run.stderr);
    let other = files.write("other.supp", "race:gone\n");
    overtake(&["analyze", &trace, "--suppressions", &other]).expect_code(66);
}

#[test]
fn options_for_threadsanitizer_are_read() {
    let files = Files::new();
    let trace = files.write("run.std", RACY);
    let rules = files.write("known.supp", "race:^counter$\n");
    let run = with_options(
        &format!("halt_on_error=1:suppressions={rules} print_suppressions=1"),
        &["analyze", &trace],
    );
    let run = run.expect_code(0);
    assert!(run.stderr.contains(&format!("  1 by race:^counter$ ({rules}:1)\n")), "{}", run.stderr);
    let run = with_options("suppressions=/nowhere/x", &["analyze", &trace]).expect_code(1);
    assert!(run.stderr.contains("/nowhere/x"), "{}", run.stderr);
}

#[test]
fn a_wrong_rule_is_an_error_with_its_place() {
    let files = Files::new();
    let trace = files.write("run.std", RACY);
    let rules = files.write("known.supp", "race:x\nrace_pair:x\n");
    let run = overtake(&["analyze", &trace, "--suppressions", &rules]).expect_code(1);
    let expected = format!("{rules}:2:11: expected two patterns with ` <> ` between them");
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
}

#[test]
fn only_new_races_fail_with_a_baseline() {
    let files = Files::new();
    let (one, two) = (files.write("one.std", RACY), files.write("two.std", two_races()));
    let (result, baseline) = (files.path("races.json"), files.path("races.toml"));
    overtake(&["analyze", &one, "--report", &format!("result={result}")]).expect_code(66);
    let run = overtake(&["baseline", &result, "-o", &baseline, "--reason", "old"]).expect_code(0);
    assert!(run.stderr.contains("1 added, 0 known before"), "{}", run.stderr);

    let run = overtake(&["analyze", &one, "--baseline", &baseline]).expect_code(0);
    assert!(
        run.stderr.contains(&format!("1 race known to {baseline}, 0 new, 0 not found again")),
        "{}",
        run.stderr
    );
    let run = overtake(&["analyze", &two, "--baseline", &baseline]).expect_code(66);
    assert!(run.stderr.contains("1 new"), "{}", run.stderr);
    let fixed = files.write("fixed.std", race_free());
    let run = overtake(&["analyze", &fixed, "--baseline", &baseline]).expect_code(0);
    assert!(run.stderr.contains("not found again: counter: "), "{}", run.stderr);

    // A stored result is judged as the analysis would have been.
    overtake(&["report", &result]).expect_code(66);
    overtake(&["report", &result, "--baseline", &baseline]).expect_code(0);
}

#[test]
fn baselines_grow_and_shrink_and_keep_reasons() {
    let files = Files::new();
    let (one, two) = (files.write("one.std", RACY), files.write("two.std", two_races()));
    let baseline = files.path("races.toml");
    let day = |seconds: &str, arguments: &[&str]| {
        let output =
            command(arguments).env("SOURCE_DATE_EPOCH", seconds).output().expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(&baseline).expect("the baseline is there")
    };
    day("1800000000", &["baseline", &one, "-o", &baseline, "--reason", "first"]);
    let grown = day("1900000000", &["baseline", &two, "-o", &baseline, "--reason", "second"]);
    expect_golden("baseline.toml", &grown);
    assert_eq!(day("1900000000", &["baseline", &two, "-o", &baseline]), grown, "nothing changes twice");
    let pruned = day("1950000000", &["baseline", &one, "-o", &baseline, "--prune"]);
    assert!(pruned.contains("first") && !pruned.contains("second"), "{pruned}");
    let suppressed = files.path("none.toml");
    let rules = files.write("all.supp", "race:*\n");
    overtake(&["baseline", &one, "-o", &suppressed, "--suppressions", &rules]).expect_code(0);
    assert!(!std::fs::read_to_string(&suppressed).expect("it is there").contains("[[race]]"));
}

#[test]
fn a_broken_baseline_is_an_error_with_its_place() {
    let files = Files::new();
    let trace = files.write("run.std", RACY);
    let baseline = files.write("races.toml", "version = 1\n[[race]]\nfingerprint = 7\n");
    let run = overtake(&["analyze", &trace, "--baseline", &baseline]).expect_code(1);
    assert!(run.stderr.contains("races.toml: line 3, column 15: "), "{}", run.stderr);
    overtake(&["baseline", &trace, "-o", &baseline]).expect_code(1);
    overtake(&["analyze", &trace, "--baseline", &files.path("missing.toml")]).expect_code(1);
}

#[test]
fn reports_for_tools_are_written_and_golden() {
    let files = Files::new();
    files.write("run.std", two_races());
    let mut program =
        command(&["analyze", "run.std", "--report", "sarif=a.sarif", "--report", "tsan=a.tsan"]);
    program.args(["--report", "perfetto=a.json"]).current_dir(files.directory());
    let output = program.output().expect("the program starts");
    assert_eq!(output.status.code(), Some(66), "{}", String::from_utf8_lossy(&output.stderr));
    for (file, golden) in
        [("a.sarif", "analyze.sarif"), ("a.tsan", "analyze.tsan"), ("a.json", "analyze.perfetto.json")]
    {
        expect_golden(golden, &std::fs::read_to_string(files.path(file)).expect("the report is there"));
    }
}

#[test]
fn timelines_show_every_critical_section_of_a_trace_even_from_a_pipe() {
    let run =
        overtake_with_input(&["analyze", "-", "--report", "perfetto=-"], RACY.as_bytes()).expect_code(66);
    let document = run.json();
    let events = document["traceEvents"].as_array().expect("there are events");
    let begun = |event: &&Value| event["ph"] == "b" && event["pid"] == 1;
    let names: Vec<_> = events.iter().filter(begun).map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["m held by T0", "m held by T1"]);
}

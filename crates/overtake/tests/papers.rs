//! `bench papers`: what is measured, what is measured again, and what is left when an analysis is stopped.

mod support;

use std::path::Path;

use support::{Files, RACY, Run, overtake};

/// Makes one table of a paper.
fn made(files: &Files, table: &str, more: &[&str]) -> Run {
    let out = files.path("tables");
    let run = overtake(&[&["bench", "papers", table, "-o", &out], more].concat()).expect_code(0);
    assert_eq!(run.text().trim(), files.path("tables/index.html"));
    run
}

fn read(files: &Files, name: &str) -> String {
    std::fs::read_to_string(Path::new(&files.path("tables")).join(name)).expect("a file was written")
}

/// How many measurements a run says that it made.
fn measurements(run: &Run) -> usize {
    run.stderr.lines().filter(|line| line.contains(" s left")).count()
}

#[test]
fn a_table_is_there_in_every_form_and_the_page_says_what_it_is_in_the_paper() {
    let files = Files::new();
    let run = made(&files, "slimstate.sets", &["--events", "2k", "--repeat", "1", "--jobs", "2"]);
    assert!(measurements(&run) >= 50, "ten traces, five ways: {}", run.stderr);
    for extension in ["csv", "md", "tex"] {
        let text = read(&files, &format!("slimstate-sets.{extension}"));
        assert!(text.contains("array-whole") && text.contains("mean"), "{text}");
    }
    let page = read(&files, "index.html");
    assert!(page.contains("<code>slimstate.sets</code> · in the paper: Table II"), "{page}");
}

#[test]
fn resumed_work_measures_only_what_would_differ() {
    let files = Files::new();
    let directory = files.path("traces");
    std::fs::create_dir_all(&directory).expect("a directory");
    let trace = format!("{directory}/a.std");
    std::fs::write(&trace, RACY).expect("a trace");
    let made = |more: &[&str]| {
        let given = [&["--traces", &directory, "--resume"], more].concat();
        measurements(&made(&files, "sync-preserving.core", &given))
    };
    let all = made(&["--repeat", "1"]);
    assert!(all > 0);
    assert_eq!(made(&["--repeat", "1"]), 0, "everything is known");
    assert_eq!(made(&["--repeat", "1", "--timeout", "1h"]), 0, "no analysis was stopped");
    assert_eq!(made(&["--repeat", "2"]), all, "times would be better");
    std::fs::write(&trace, format!("{RACY}T1|w(x)|9\n")).expect("another trace");
    assert_eq!(made(&["--repeat", "2"]), all, "the trace is another one");
    assert_eq!(made(&["--repeat", "2"]), 0);
}

#[test]
fn what_is_stopped_counts_as_far_as_it_came_and_is_measured_again_with_more_room() {
    let files = Files::new();
    let trace = files.path("long.otr");
    overtake(&["gen", "lock-heavy", "--events", "200k", "-o", &trace]).expect_code(0);
    let made = |memory: &str| {
        let given = ["--traces", &trace, "--repeat", "1", "--resume", "--memory", memory];
        made(&files, "short-races.groups-cost", &given)
    };
    let percent = || {
        let table = read(&files, "short-races-groups-cost.csv");
        let rows: Vec<Vec<_>> = table.lines().map(|line| line.split(',').collect()).collect();
        let of = |name: &str| rows[0].iter().position(|heading| *heading == name).expect("a column");
        let row = rows.iter().find(|row| row[of("detector")] == "hb").expect("a row");
        row[of("percent read")].parse::<f64>().expect("a number")
    };
    let run = made("10");
    assert!(run.stderr.contains("stopped at "), "{}", run.stderr);
    assert!(percent() > 0.0 && percent() < 100.0, "{}", percent());
    let stopped = measurements(&run);
    assert_eq!(measurements(&made("10")), 0);
    assert_eq!(measurements(&made("10G")), stopped, "each of them was stopped");
    assert!((percent() - 100.0).abs() < 1e-9, "{}", percent());
}

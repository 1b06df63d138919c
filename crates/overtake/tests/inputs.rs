//! Good and bad inputs: files, standard input, damage.

mod support;

use std::io::Read;

use support::{Files, RACY, command, expect_golden, overtake, overtake_with_input};

#[test]
fn a_missing_file_is_an_error_with_its_name() {
    let run = overtake(&["stat", "no-such-trace.std"]).expect_code(1);
    assert!(run.stderr.starts_with("overtake: no-such-trace.std: "), "{}", run.stderr);
    assert_eq!(run.text(), "");
}

#[test]
fn a_syntax_error_names_file_line_and_column() {
    let files = Files::new();
    let path = files.write("bad.std", "T0|w(x)|1\nT0|r(x)|2\nT0|q(x)|3\n");
    for command in ["stat", "validate", "analyze", "compare"] {
        let run = overtake(&[command, &path]).expect_code(1);
        assert!(
            run.stderr.contains(&format!("overtake: {path}: line 3, column 4: expected ")),
            "{}",
            run.stderr
        );
        assert_eq!(run.text(), "", "{command}");
    }
    let run = overtake_with_input(&["stat", "-"], b"T0|w(x)|1\n\xff\xfe\n").expect_code(1);
    assert!(run.stderr.starts_with("overtake: standard input: line 2, column "), "{}", run.stderr);
}

#[test]
fn a_directory_is_an_error() {
    let files = Files::new();
    overtake(&["stat", &files.path("")]).expect_code(1);
}

#[test]
fn statistics_of_a_small_trace() {
    let run = overtake_with_input(&["stat", "-"], RACY.as_bytes()).expect_code(0);
    expect_golden("stat.txt", &run.text());
    let run = overtake_with_input(&["stat", "-", "--json"], RACY.as_bytes()).expect_code(0);
    expect_golden("stat.json", &format!("{:#}\n", run.json()));
}

#[test]
fn an_empty_trace_is_well_formed_but_not_free_of_races() {
    overtake_with_input(&["stat", "-"], b"").expect_code(0);
    overtake_with_input(&["validate", "-"], b"").expect_code(0);
    for command in ["analyze", "compare"] {
        let run = overtake_with_input(&[command, "-"], b"# nothing\n").expect_code(1);
        assert!(run.stderr.contains("expected events, found none, so nothing was checked"), "{}", run.stderr);
    }
    let files = Files::new();
    let empty = files.write("empty.otr", "");
    overtake(&["analyze", &empty]).expect_code(1);
    overtake(&["analyze", &empty, "--salvage"]).expect_code(1);
    overtake(&["analyze", &empty, "-d", "rpt"]).expect_code(1);
}

#[test]
fn repairs_are_listed_and_strict_stops_at_the_first() {
    let broken = "T0|acq(m)|1\nT0|acq(m)|2\nT0|rel(m)|3\nT0|rel(m)|4\nT0|rel(m)|5\n";
    let run = overtake_with_input(&["validate", "-"], broken.as_bytes()).expect_code(0);
    expect_golden("validate.txt", &run.text());
    let run = overtake_with_input(&["validate", "-", "--strict"], broken.as_bytes()).expect_code(1);
    assert!(run.stderr.starts_with("overtake: standard input: line 2, column 1: "), "{}", run.stderr);
    let run = overtake_with_input(&["validate", "-", "--strict", "--json"], broken.as_bytes()).expect_code(1);
    assert_eq!(run.json()["valid"], false);
    assert!(run.json()["violation"].as_str().expect("words").contains("line 2"), "{}", run.text());
    let run = overtake_with_input(&["validate", "-", "--json"], RACY.as_bytes()).expect_code(0);
    assert_eq!(run.json()["valid"], true);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let files = Files::new();
    let trace = files.path("t.otr");
    overtake(&["gen", "lock-heavy", "--events", "200000", "-o", &trace]).expect_code(0);
    let mut child = command(&["convert", &trace, "-", "--to", "std"]).spawn().expect("the program starts");
    let mut some = [0; 100];
    child.stdout.take().expect("a pipe").read_exact(&mut some).expect("some output");
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0));
}

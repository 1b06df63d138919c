//! Races are searched while the log is sealed; the result is that of sealing first and searching then.

use std::path::{Path, PathBuf};

use overtake::recording::seal_log;
use overtake::reports::Details;
use overtake::{Search, Searched};
use serde_json::Value;

use crate::support::programs::{command, compiled, overtake, sources, succeed};
use crate::support::without_times;

/// The log that a program leaves in a directory.
fn log_of(program: &Path, directory: &Path) -> PathBuf {
    std::fs::create_dir(directory).expect("writable");
    command(program).env("OVERTAKE_LOG", directory).output().expect("it starts");
    let mut logs = std::fs::read_dir(directory).expect("readable");
    logs.next().expect("a log").expect("readable").path()
}

fn result(mut searched: Searched) -> Value {
    searched.report.runs.iter_mut().for_each(|run| run.trace.clear());
    let mut result = serde_json::to_value(searched.report).expect("a result");
    without_times(&mut result);
    result
}

fn searches() -> [Search; 3] {
    let hb = Search { detectors: vec![overtake_detect::find("hb").expect("a row")], ..Search::default() };
    let timeline = Details { timeline: true, ..Details::default() };
    [Search::default(), hb.clone(), Search { details: timeline, ..hb }]
}

/// Asserts that a program's races are the same while its log is sealed and after that.
fn assert_same_meanwhile(program: &Path, directory: &Path) {
    let log = log_of(program, &directory.join("log"));
    let trace = directory.join("trace.otr");
    let (sealed, _) = seal_log(&log, &trace).expect("a log that can be sealed");
    for search in searches() {
        let later = search.in_sealed(&trace, &sealed, &()).expect("a trace that can be searched");
        let other = directory.join("meanwhile.otr");
        let at_once = search.in_log(&log, &other, &()).expect("a log that can be searched");
        assert!(!other.exists(), "a trace that nobody asked for is left");
        assert_eq!(at_once.is_incomplete, later.is_incomplete);
        assert_eq!(result(at_once), result(later), "{}", program.display());
    }
}

#[test]
fn races_found_while_sealing_are_those_found_after_it() {
    for source in [sources("tests/programs/race"), sources("tests/programs/quiet")].concat() {
        let directory = tempfile::tempdir().expect("writable");
        assert_same_meanwhile(&compiled(&source, &directory), directory.path());
    }
}

#[test]
fn programs_of_the_benchmarks_are_judged_the_same_while_sealing_and_after_it() {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../overtake-runtime/bench");
    for name in ["counter", "hash", "matrix", "queue", "quicksort", "stencil"] {
        let directory = tempfile::tempdir().expect("writable");
        let program = directory.path().join(name);
        let mut build = overtake();
        build.args(["cc", "-O1", "-pthread", "-DPART=8", "-o"]).arg(&program);
        succeed(build.arg(bench.join(format!("{name}.c"))));
        assert_same_meanwhile(&program, directory.path());
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_searched_all_the_same() {
    let is_observed = |source: &PathBuf| source.ends_with("free_while_used.c");
    let source = sources("tests/programs/race")
        .into_iter()
        .find(is_observed)
        .expect("a race that every detector finds");
    let directory = tempfile::tempdir().expect("writable");
    let log = log_of(&compiled(&source, &directory), &directory.path().join("log"));
    for search in searches() {
        let expected = search.in_log(&log, &directory.path().join("trace.otr"), &()).expect("a search");
        assert_ne!(expected.report.findings.len(), 0, "{}", source.display());
        // No file can have the name of a directory.
        let found = search.in_log(&log, directory.path(), &()).expect("a search in memory");
        assert_eq!(result(found), result(expected));
    }
}

#[test]
fn a_log_that_cannot_be_sealed_is_refused_as_before() {
    let directory = tempfile::tempdir().expect("writable");
    let trace = directory.path().join("trace.otr");
    let refused = seal_log(directory.path(), &trace).expect_err("no log").to_string();
    for search in searches() {
        let error = search.in_log(directory.path(), &trace, &()).err().expect("no log").to_string();
        assert_eq!(error, refused);
        assert!(!trace.exists());
    }
}

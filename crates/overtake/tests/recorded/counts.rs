//! How many events, variables and objects the programs of the benchmarks leave. What a verdict costs follows them, and unlike times they
//! do not depend on the machine: bounds are up to a tenth above what two compilers gave.

use std::path::Path;
use std::process::Command;

use super::support::programs::{compilers, overtake, succeed};

/// A program, and the largest numbers of events, variables and objects that an eighth of its work may leave.
const MOST: [(&str, [u64; 3]); 6] = [
    ("counter", [440_000, 10, 3]),
    ("hash", [1_150_000, 114_000, 3]),
    ("matrix", [139_000, 28_500, 3]),
    ("queue", [420_000, 41_500, 5]),
    ("quicksort", [1_200_000, 251_000, 3]),
    ("stencil", [16_700, 3_500, 10]),
];

/// Compiles a program of the benchmarks, records an eighth of its work, and counts what is in the trace.
fn counted(name: &str, (compiler, _): &(String, String)) -> serde_json::Value {
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("../overtake-runtime/bench");
    let directory = tempfile::tempdir().expect("writable");
    let (program, traces) = (directory.path().join(name), directory.path().join("traces"));
    let mut build = overtake();
    build.env("OVERTAKE_CC", compiler).args(["cc", "-O1", "-pthread", "-DPART=8", "-o"]).arg(&program);
    succeed(build.arg(bench.join(format!("{name}.c"))));
    succeed(overtake().args(["record", "-q", "-o"]).arg(&traces).arg("--").arg(&program));
    let mut entries = std::fs::read_dir(&traces).expect("readable");
    let trace = entries.next().expect("a trace").expect("readable").path();
    let mut stat: Command = overtake();
    let output = succeed(stat.args(["stat", "--json"]).arg(trace));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn programs_leave_no_more_events_variables_and_objects_than_they_need() {
    for compiler in &compilers() {
        for (name, most) in MOST {
            let counts = counted(name, compiler);
            let trace = &counts["trace"];
            let found =
                [&trace["events"], &trace["variables"], &counts["objects"]].map(|count| count.as_u64());
            let fits = found.iter().zip(most).all(|(found, most)| found.is_some_and(|found| found <= most));
            assert!(
                fits,
                "{name} by {}: {found:?} events, variables and objects, at most {most:?}",
                compiler.0
            );
        }
    }
}

#[test]
fn locks_that_are_made_before_the_threads_cost_no_accesses() {
    for compiler in &compilers() {
        let counts = counted("hash", compiler);
        assert_eq!(counts["operations"]["load"], 0, "{}", compiler.0);
    }
}

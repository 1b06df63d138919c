//! Programs that hang until somebody ends them: the deadlock is in the report, with who holds and waits for what.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::programs::{command, compilers, overtake, said, succeed};
use tempfile::TempDir;

const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

struct Hanging {
    directory: TempDir,
    program: PathBuf,
}

impl Hanging {
    fn compiled(name: &str, compiler: &str) -> Hanging {
        let directory = tempfile::tempdir().expect("writable");
        let program = directory.path().join(name);
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hang").join(name);
        let mut ours = overtake();
        ours.env("OVERTAKE_CC", compiler).args(["cc", "-g", "-O1", "-Wall", "-Werror", "-pthread", "-o"]);
        succeed(ours.arg(&program).arg(source.with_extension("c")));
        Hanging { directory, program }
    }

    /// Ends the program by this signal once it hangs.
    fn ended_by(&self, mut command: Command, signal: i32) -> Output {
        command.env("SIGNAL", signal.to_string()).env("TMPDIR", self.directory.path());
        command.output().expect("it starts")
    }

    fn run(&self, signal: i32) -> Output {
        let mut run = overtake();
        run.args(["run", "--"]).arg(&self.program);
        self.ended_by(run, signal)
    }
}

#[track_caller]
fn expect_report(output: &Output, words: &[&str]) {
    let report = said(output).split_whitespace().collect::<Vec<_>>().join(" ");
    for words in words {
        assert!(report.contains(words), "no {words} in:\n{}", said(output));
    }
}

const CROSSED: [&str; 4] = [
    "observed deadlock: left, right: to_the_right waits for right while to_the_left waits for left",
    "The run ends like this: T1 holds left and waits for right, T2 holds right and waits for left.",
    "crossed.c:9",
    "1 observed deadlock in crossed",
];

#[test]
fn a_deadlock_that_happened_is_observed_however_the_program_was_ended() {
    for (compiler, _) in compilers() {
        let hanging = Hanging::compiled("crossed", &compiler);
        for signal in [SIGINT, SIGTERM, SIGKILL] {
            let output = hanging.run(signal);
            assert_eq!(output.status.code(), Some(66), "{}", said(&output));
            expect_report(&output, &CROSSED);
        }
        for signal in [SIGINT, SIGTERM] {
            expect_report(&hanging.ended_by(command(&hanging.program), signal), &CROSSED);
        }
        hanging.ended_by(command(&hanging.program), SIGKILL);
        let listed = succeed(overtake().env("TMPDIR", hanging.directory.path()).arg("finish"));
        let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
        let log =
            listed.trim_start_matches("overtake finish ").split("    #").next().expect("a log").to_owned();
        let finished = overtake().arg("finish").arg(log).output().expect("it starts");
        assert_eq!(finished.status.code(), Some(66), "{listed}{}", said(&finished));
        expect_report(&finished, &CROSSED);
    }
}

#[test]
fn readers_and_writers_hang_as_well() {
    for (compiler, _) in compilers() {
        let output = Hanging::compiled("reading", &compiler).run(SIGTERM);
        let words =
            "observed deadlock: table, queue: read_table waits for queue while write_table waits for table";
        expect_report(&output, &[words, "1 observed deadlock in reading"]);
    }
}

#[test]
fn a_thread_may_wait_for_itself() {
    let output = Hanging::compiled("alone", "gcc").run(SIGTERM);
    let words = [
        "observed deadlock: account: deposit_twice waits for account, which it holds",
        "observed: the thread waits for itself in this run",
        "holds account and waits for account",
        "must not lock it again",
    ];
    expect_report(&output, &words);
}

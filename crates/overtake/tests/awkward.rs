//! Programs that do unusual things. They print and return the same as without us, under `overtake run` and started directly, with
//! every compiler. What they do after the unusual part is recorded and analysed. No file is left behind.
//!
//! Each program of `programs/awkward` races once, after its unusual part, unless `QUIET` is set.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output};

use support::programs::{command, compilers, overtake, quick_directory, said, succeed};
use tempfile::TempDir;

/// What a program that is started directly can say when it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Directly {
    /// It reports.
    Reports,
    /// It reports, but its exit code stays: a signal kills it, or a later process reports.
    ReportsOnly,
    /// Some process of it ends too suddenly, and leaves its log to `overtake finish`; others may report.
    LeavesLogs,
    /// It can no longer report: it says so, fails, and leaves its log to `overtake finish`.
    Fails,
}

struct Programs {
    directory: TempDir,
    scratch: TempDir,
    source: PathBuf,
}

impl Programs {
    fn new(name: &str) -> Programs {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/awkward");
        Programs {
            directory: tempfile::tempdir().expect("writable"),
            scratch: tempfile::tempdir_in(quick_directory()).expect("writable"),
            source: sources.join(name).with_extension("c"),
        }
    }

    /// Compiles the program, with the real compiler or with ours in front of it.
    fn compiled(&self, mut compiler: Command, name: &str) -> PathBuf {
        let program = self.directory.path().join(name);
        compiler.args(["-O1", "-g", "-Wall", "-Werror", "-pthread", "-o"]).arg(&program).arg(&self.source);
        succeed(&mut compiler);
        program
    }

    fn run(&self, mut command: Command, is_quiet: bool) -> Output {
        command.env("TMPDIR", self.scratch.path());
        if is_quiet {
            command.env("QUIET", "1");
        }
        command.output().expect("it starts")
    }

    fn left(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.scratch.path()).expect("readable");
        entries.map(|entry| entry.expect("readable").path()).collect()
    }

    /// Takes the reports that were written to a file, because standard error was no longer the one of the start.
    fn take_reports(&self) -> String {
        let left = self.left().into_iter();
        let reports = left.filter(|path| path.extension().is_some_and(|extension| extension == "report"));
        let take = |path: PathBuf| {
            let report = std::fs::read_to_string(&path).expect("readable");
            std::fs::remove_file(path).expect("ours");
            report
        };
        reports.map(take).collect()
    }
}

/// The exit code as shells count it.
fn code(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Every compiler, both ways to start, with the race and without; the two compilers share the four combinations.
#[track_caller]
fn expect_the_same(name: &str, directly: Directly) {
    let programs = Programs::new(name);
    let compilers = compilers();
    let plain = programs.compiled(command(&compilers[0].0), "plain");
    let expected = programs.run(command(plain), true);
    for (at, (compiler, _)) in compilers.iter().enumerate() {
        let mut ours = overtake();
        ours.arg("cc").env("OVERTAKE_CC", compiler);
        let program = programs.compiled(ours, compiler);
        for is_run in [true, false] {
            let is_quiet = is_run == (at % 2 == 1);
            let mut started = if is_run { overtake() } else { command(&program) };
            if is_run {
                started.args(["run", "--"]).arg(&program);
            }
            let output = programs.run(started, is_quiet);
            let case = format!("{name}, {compiler}, run: {is_run}, quiet: {is_quiet}\n{}", said(&output));
            let [printed, wanted] =
                [&output, &expected].map(|output| String::from_utf8_lossy(&output.stdout));
            assert_eq!(printed, wanted, "{case}");
            let report = said(&output) + &programs.take_reports();
            let left = programs.left();
            let is_told = report.contains("observed race on shared");
            let directly = if is_run { Directly::Reports } else { directly };
            let own = code(expected.status);
            let wanted = match (directly, is_quiet) {
                (Directly::Fails, _) => vec![own.max(1)],
                (_, true) => vec![own],
                (Directly::Reports, false) => vec![66],
                (Directly::ReportsOnly, false) => vec![own],
                (Directly::LeavesLogs, false) => vec![66, own],
            };
            assert!(wanted.contains(&code(output.status)), "{case}");
            let leaves_logs = matches!(directly, Directly::LeavesLogs | Directly::Fails);
            assert!(leaves_logs || left.is_empty(), "{case}\n{left:?}");
            let finished =
                left.iter().map(|log| overtake().arg("finish").arg(log).output().expect("it starts"));
            let finished: Vec<i32> = finished.map(|finished| code(finished.status)).collect();
            assert!(finished.iter().all(|code| [0, 66].contains(code)), "{case}\n{finished:?}");
            assert_eq!(is_told || finished.contains(&66), !is_quiet, "{case}\n{finished:?}");
            if directly == Directly::Fails {
                let is_named = |log: &PathBuf| said(&output).contains(&*log.to_string_lossy());
                assert!(!left.is_empty() && left.iter().all(is_named), "{case}\n{left:?}");
                left.iter().for_each(|log| std::fs::remove_dir_all(log).unwrap_or_default());
            } else if is_quiet {
                expect_no_complaint(&output, is_run, &case);
            }
        }
    }
}

/// Under `overtake run`, a run without a race says what was checked and how the program ended. Started directly, it says nothing.
#[track_caller]
fn expect_no_complaint(output: &Output, is_run: bool, case: &str) {
    let usual =
        ["no race: ", "the program ended with", "the program died of", "waiting for what the program left"];
    for line in said(output).lines() {
        assert!(is_run && usual.iter().any(|usual| line.contains(usual)), "{case}");
    }
}

macro_rules! same {
    ($directly:ident: $($name:ident),+ $(,)?) => {
        $(
            #[test]
            fn $name() {
                expect_the_same(stringify!($name), Directly::$directly);
            }
        )+
    };
}

mod programs_do_the_same_as_without_us {
    use super::{Directly, expect_the_same};

    same!(Reports: fork_storm, racing_child, spawned, everything_closed, little_memory, more_than_memory, many_signals, jumps, contexts, cancelled, many_mutexes,
        deep, quick_end, raw_end, exec_in_thread, vforked, no_descriptors, small_files, unflushed, reused_stderr, threads_alive, threads_in_sequence,
        no_time_stamps, nothing_allowed, signal_stacks, last_thread_ends,
        race_before_exec, spawned_racer, shell_started);
    same!(ReportsOnly: daemon, silent_daemon, late_children, crashed, overflow, overflow_in_thread, own_handlers, trapped, interrupted);
    same!(LeavesLogs: killed, inline_end);
    same!(Fails: privileges_dropped, chrooted, unshared, opening_forbidden, opening_kills);
}

/// The same on one thread: neither sealing nor analysing needs more.
#[test]
fn a_log_is_read_where_threads_cannot_be_started() {
    let programs = Programs::new("raw_end");
    let mut ours = overtake();
    ours.arg("cc");
    let program = programs.compiled(ours, "program");
    let mut recorded = command(&program);
    recorded.env("OVERTAKE_LOG", programs.scratch.path());
    programs.run(recorded, false);
    let tools = Programs::new("without_threads");
    let alone = tools.compiled(command("gcc"), "alone");
    let left = programs.left();
    assert_eq!(left.len(), 1, "{left:?}");
    let finished = command(alone).arg(env!("CARGO_BIN_EXE_overtake")).arg("finish").args(left).output();
    let finished = finished.expect("it starts");
    assert_eq!(code(finished.status), 66, "{}", said(&finished));
    assert!(said(&finished).contains("observed race on shared"), "{}", said(&finished));
}

/// State follows what is alive, in sealing and in every default detector.
#[test]
fn threads_one_after_the_other_are_analysed_in_little_memory() {
    let programs = Programs::new("threads_in_sequence");
    let mut ours = overtake();
    ours.arg("cc");
    let program = programs.compiled(ours, "program");
    let mut recorded = command(&program);
    recorded.env("OVERTAKE_LOG", programs.scratch.path());
    programs.run(recorded, false);
    let left = programs.left();
    assert_eq!(left.len(), 1, "{left:?}");
    let limited = "ulimit -v 1000000; exec \"$0\" finish \"$1\"";
    let mut finish = command("sh");
    finish.args(["-c", limited, env!("CARGO_BIN_EXE_overtake")]).args(left);
    let finished = finish.output().expect("it starts");
    assert_eq!(code(finished.status), 66, "{}", said(&finished));
    assert!(said(&finished).contains("observed race on shared"), "{}", said(&finished));
}

/// The true reason, not that there is no `overtake`.
#[test]
fn a_program_in_another_root_says_why_nobody_reports() {
    let programs = Programs::new("chrooted");
    let mut ours = overtake();
    ours.arg("cc");
    let program = programs.compiled(ours, "program");
    let output = programs.run(command(program), false);
    assert!(
        said(&output).contains("the program sees other directories than at its start"),
        "{}",
        said(&output)
    );
    assert_eq!(code(output.status), 1);
    assert_eq!(programs.left().len(), 1, "its log");
}

//! Runs of which nothing, or not everything, was checked: they never look like runs without races.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::programs::{command, compiled, overtake, said, sources, succeed};
use tempfile::TempDir;

/// A program of two threads that count under a lock.
const COUNTERS: &str = "\
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *work(void *unused) {
    pthread_mutex_lock(&lock);
    count++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    work(0);
    return pthread_join(thread, 0);
}
";

/// A program that does `before`, and then has a race in every run.
fn racing(before: &str) -> String {
    format!(
        "#include <pthread.h>\n#include <signal.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n\
         int shared;\n\
         static void *work(void *unused) {{ shared = 1; return unused; }}\n\
         static void race(void) {{ pthread_t t; pthread_create(&t, 0, work, 0); shared = 2; pthread_join(t, 0); }}\n\
         int main(void) {{ {before} race(); return 0; }}\n"
    )
}

fn program(text: &str, directory: &TempDir) -> PathBuf {
    let source = directory.path().join("program.c");
    std::fs::write(&source, text).expect("writable");
    compiled(&source, directory)
}

fn run(arguments: &[&str], program: &Path) -> Output {
    overtake().arg("run").args(arguments).arg("--").arg(program).output().expect("it starts")
}

/// What lies in a directory, apart from the program and its source.
fn left_in(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).expect("readable");
    entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_run_that_records_nothing_fails_unless_that_is_accepted() {
    let output = run(&[], Path::new("/bin/true"));
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("nothing was recorded, so nothing was checked"), "{}", said(&output));
    assert_eq!(run(&["--allow-empty"], Path::new("/bin/true")).status.code(), Some(0));
    assert_eq!(run(&["--allow-empty"], Path::new("/bin/false")).status.code(), Some(1));
    let directory = tempfile::tempdir().expect("writable");
    let mut record = overtake();
    record.args(["record", "-o"]).arg(directory.path()).args(["--", "/bin/true"]);
    assert_eq!(record.output().expect("it starts").status.code(), Some(1));
}

#[test]
fn objects_that_were_linked_but_not_compiled_by_us_are_not_clean() {
    let directory = tempfile::tempdir().expect("writable");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("program.c"), COUNTERS).expect("writable");
    succeed(command("cc").args(["-c", "-o"]).arg(path("program.o")).arg(path("program.c")));
    succeed(overtake().args(["cc", "-pthread", "-o"]).arg(path("program")).arg(path("program.o")));
    let output = run(&[], &path("program"));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("threads and locks were seen, but no access"), "{}", said(&output));
    assert_eq!(run(&["--allow-empty"], &path("program")).status.code(), Some(0));
}

#[test]
fn a_clean_run_says_what_was_checked() {
    let directory = tempfile::tempdir().expect("writable");
    let output = run(&[], &program(COUNTERS, &directory));
    let said = said(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.starts_with("overtake: no race: 2 threads, "), "{said}");
    assert!(said.contains(" events, 1 process, ") && said.ends_with(" s\n"), "{said}");
}

#[test]
fn how_the_program_ended_is_said() {
    let directory = tempfile::tempdir().expect("writable");
    let output = run(&[], &program("int main(void) { __builtin_trap(); }\n", &directory));
    assert_eq!(output.status.code(), Some(132), "{}", said(&output));
    assert!(said(&output).contains("died of signal 4 (SIGILL), exit code 132"), "{}", said(&output));
    let output = run(&[], &program("static int code = 3; int main(void) { return code; }\n", &directory));
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("the program ended with exit code 3"), "{}", said(&output));
}

#[test]
fn wrong_files_are_found_before_the_program_starts() {
    let directory = tempfile::tempdir().expect("writable");
    let mark = directory.path().join("it-ran");
    let text =
        format!("#include <stdio.h>\nint main(void) {{ fopen(\"{}\", \"w\"); return 0; }}\n", mark.display());
    let program = program(&text, &directory);
    let bad = directory.path().join("bad");
    std::fs::write(&bad, "no such grammar\n").expect("writable");
    let bad = bad.to_str().expect("UTF-8");
    let [below, result, missing] = [format!("{bad}/x"), format!("result={bad}/x"), format!("{bad}.none")];
    let wrong = [
        ["--suppressions", bad],
        ["--suppressions", &missing],
        ["--baseline", bad],
        ["--report", &result],
        ["--keep", &below],
    ];
    for wrong in wrong {
        let output = run(&wrong, &program);
        assert_eq!(output.status.code(), Some(1), "{wrong:?}: {}", said(&output));
        assert!(said(&output).contains(bad) && !mark.exists(), "{wrong:?}: {}", said(&output));
    }
    let report = directory.path().join("a/b/races.json");
    let output = run(&["--report", &format!("result={}", report.display())], &program);
    assert_eq!((output.status.code(), report.exists()), (Some(0), true), "{}", said(&output));
}

#[test]
fn a_report_that_cannot_be_written_takes_nothing_away() {
    let directory = tempfile::tempdir().expect("writable");
    let scratch = tempfile::tempdir().expect("writable");
    let program = program(&racing(""), &directory);
    let mut command = overtake();
    command.env("TMPDIR", scratch.path()).args(["run", "--report", "result=/dev/full", "--"]).arg(&program);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("observed race on shared"), "{}", said(&output));
    assert!(said(&output).contains("/dev/full: No space left"), "{}", said(&output));
    let told = said(&output);
    let log =
        told.split_once("`overtake finish ").expect("a log is kept").1.split('`').next().expect("its end");
    let again = overtake().args(["finish", log]).output().expect("it starts");
    assert_eq!(again.status.code(), Some(66), "{}", said(&again));
    assert!(left_in(scratch.path()).is_empty(), "{:?}", left_in(scratch.path()));
}

/// What comes after the program may fail: its races are reported all the same.
#[test]
fn a_failure_after_the_program_takes_nothing_away() {
    let directory = tempfile::tempdir().expect("writable");
    let racy = program(&racing(""), &directory);
    let output = run(&["--teardown", "exit 3"], &racy);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("observed race on shared"), "{}", said(&output));
    assert!(said(&output).contains("`exit 3` failed"), "{}", said(&output));
    let output = run(&["--teardown", "exit 3"], &program(COUNTERS, &directory));
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    // The second run of the program, which would confirm the race, cannot be prepared.
    let once = format!("mkdir {}", directory.path().join("once").display());
    let predicted = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/race/lock_between.c");
    let output = run(&["--confirm", "--setup", &once], &compiled(&predicted, &directory));
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("predicted race on shared"), "{}", said(&output));
    assert!(said(&output).contains("could not be confirmed"), "{}", said(&output));
}

/// Detectors and findings of a stored result, without what says where the trace came from.
fn found(result: &Path) -> (Vec<serde_json::Value>, serde_json::Value) {
    let text = std::fs::read_to_string(result).expect("a result");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let detectors = report["runs"][0]["detectors"].as_array().expect("a list");
    (detectors.iter().map(|detector| detector["name"].clone()).collect(), report["findings"].clone())
}

#[test]
fn a_run_and_the_analysis_of_its_trace_find_the_same() {
    let directory = tempfile::tempdir().expect("writable");
    let path = |name: &str| directory.path().join(name);
    let result = |name: &str| format!("result={}", path(name).display());
    let examples = sources("../../examples").into_iter().map(|source| compiled(&source, &directory));
    for program in examples.collect::<Vec<_>>().into_iter().chain([program(&racing(""), &directory)]) {
        let kept = format!("{}.kept", program.display());
        run(&["--keep", &kept, "--report", &result("run.json")], &program);
        let traces = left_in(Path::new(&kept));
        assert_eq!(traces.len(), 1, "{}: one process", program.display());
        let mut analyze = overtake();
        analyze.arg("analyze").arg(Path::new(&kept).join(&traces[0]));
        analyze.arg("--report").arg(result("analyze.json")).output().expect("it starts");
        let [run, analysis] = ["run.json", "analyze.json"].map(|name| found(&path(name)));
        assert_eq!(run, analysis, "{}", program.display());
    }
}

/// The files that debug information names are sources of the program only where the program was built.
#[test]
fn excerpts_are_of_sources_only() {
    let directory = tempfile::tempdir().expect("writable");
    let elsewhere = tempfile::tempdir().expect("writable");
    let secret = elsewhere.path().join("secret.txt");
    std::fs::write(&secret, "root:hunter2\n".repeat(20)).expect("writable");
    let text = racing("").replacen(
        "static void race",
        &format!("# 3 \"{}\"\nstatic void race", secret.display()),
        1,
    );
    let program = program(&text, &directory);
    let output = run(&["--report", "json=-"], &program);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let told = said(&output) + &String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("secret.txt") && told.contains("shared = 1"), "{told}");
    assert!(!told.contains("hunter2"), "{told}");
}

#[test]
fn processes_that_outlive_the_first_one_are_waited_for() {
    let directory = tempfile::tempdir().expect("writable");
    // The grandchild goes on only when it is an orphan: its parent's end of the pipe is closed.
    let daemon = "int ends[2]; if (pipe(ends)) return 1; if (fork()) return 0; \
                  setsid(); close(ends[1]); char byte; while (read(ends[0], &byte, 1) > 0) {}";
    let output = run(&[], &program(&racing(daemon), &directory));
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("observed race on shared"), "{}", said(&output));
}

/// It reports for itself, and the run knows.
#[test]
fn a_racing_program_that_was_started_without_the_environment_counts() {
    let directory = tempfile::tempdir().expect("writable");
    let start = "int main(int count, char **given) { \
                 if (count > 1) { race(); return 0; } \
                 pid_t child = fork(); \
                 if (child == 0) { char *again[] = {given[0], \"again\", 0}, *nothing[] = {0}; \
                                   execve(\"/proc/self/exe\", again, nothing); } \
                 waitpid(child, 0, 0);";
    let text = racing("").replacen("int main(void) {  race();", start, 1);
    let output = run(&[], &program(&format!("#include <sys/wait.h>\n{text}"), &directory));
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("observed race on shared"), "{}", said(&output));
}

#[test]
fn logs_of_processes_that_still_run_stay() {
    let directory = tempfile::tempdir().expect("writable");
    let scratch = tempfile::tempdir().expect("writable");
    let daemon = "if (fork()) return 0; setsid(); close(0); close(1); close(2); pause();";
    let program = program(&racing(daemon), &directory);
    let mut command = overtake();
    command.env("TMPDIR", scratch.path()).args(["run", "--wait", "0s", "--"]).arg(&program);
    let output = command.output().expect("it starts");
    let said = said(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("still running, so not checked") && said.contains("overtake finish "), "{said}");
    let log = said.lines().find_map(|line| line.split_once("overtake finish ")).expect("a log").1;
    assert!(Path::new(log).join("process").exists(), "{said}");
    let process = Path::new(log).file_stem().and_then(|stem| Path::new(stem).extension()).expect("a number");
    succeed(Command::new("kill").arg(process));
}

#[test]
fn signals_are_for_the_program_and_leave_nothing_behind() {
    let directory = tempfile::tempdir().expect("writable");
    let text = racing(
        "puts(\"ready\"); fflush(stdout); int signal_number; sigset_t set; sigemptyset(&set); \
                       sigaddset(&set, SIGTERM); sigaddset(&set, SIGHUP); sigprocmask(SIG_BLOCK, &set, 0); puts(\"blocked\"); \
                       fflush(stdout); sigwait(&set, &signal_number);",
    );
    let program = program(&text, &directory);
    for signal in ["TERM", "HUP"] {
        let scratch = tempfile::tempdir().expect("writable");
        // If the tests were started with the signals ignored, as nohup does, they stay ignored.
        let mut started = command("env");
        started.arg(format!("--default-signal={signal}")).arg(overtake().get_program());
        started.env("TMPDIR", scratch.path()).args(["run", "--"]).arg(&program);
        let mut child = started.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        while lines.next().expect("a line").expect("text") != "blocked" {}
        succeed(Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()));
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(66), "{signal}: {}", said(&output));
        assert!(left_in(scratch.path()).is_empty(), "{signal}: {:?}", left_in(scratch.path()));
    }
}

#[test]
fn a_temporary_directory_that_is_not_there_is_replaced() {
    let directory = tempfile::tempdir().expect("writable");
    let program = program(COUNTERS, &directory);
    let mut command = overtake();
    command.env("TMPDIR", directory.path().join("missing")).args(["run", "--"]).arg(&program);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("is used instead") && said(&output).contains("no race: 2 threads"));
}

#[test]
fn sealing_needs_no_threads() {
    let directory = tempfile::tempdir().expect("writable");
    let program = program(COUNTERS, &directory);
    let mut command = overtake();
    // No thread can have a stack as large as this.
    command.env("RUST_MIN_STACK", (1_u64 << 47).to_string()).args(["run", "--"]).arg(&program);
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("no race: 2 threads"), "{}", said(&output));
}

#[test]
fn logs_of_programs_that_were_killed_are_mentioned_and_read() {
    let directory = tempfile::tempdir().expect("writable");
    let scratch = tempfile::tempdir().expect("writable");
    let text = racing("race(); if (getenv(\"CRASH\")) kill(getpid(), SIGKILL);");
    let program = program(&text, &directory);
    let crashed =
        command(&program).env("TMPDIR", scratch.path()).env("CRASH", "1").output().expect("it starts");
    assert_eq!(crashed.status.code(), None);
    let mut list = overtake();
    let list = succeed(list.env("TMPDIR", scratch.path()).arg("finish"));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let log = list.trim_start_matches("overtake finish ").split("    #").next().expect("a log").to_owned();
    assert!(Path::new(&log).join("process").exists(), "{list}");
    let mut again = overtake();
    let again =
        again.env("TMPDIR", scratch.path()).args(["run", "--"]).arg(&program).output().expect("it starts");
    assert!(said(&again).contains(&format!("overtake finish {log}")), "{}", said(&again));
    let mut finish = overtake();
    let finish = finish.arg("finish").arg(&log).output().expect("it starts");
    assert_eq!(finish.status.code(), Some(66), "{}", said(&finish));
    assert!(left_in(scratch.path()).is_empty(), "{:?}", left_in(scratch.path()));
}

/// Whether a process is there and no zombie. A zombie may never be reaped.
fn is_running(process: &str) -> bool {
    let state = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    state.rsplit(") ").next().is_some_and(|state| !state.is_empty() && !state.starts_with(['Z', 'X']))
}

/// `overtake run` itself may be killed, for want of memory perhaps. The next run finds what was recorded.
#[test]
fn logs_of_runs_that_were_killed_are_found() {
    let directory = tempfile::tempdir().expect("writable");
    let scratch = tempfile::tempdir().expect("writable");
    let text = racing("race(); printf(\"%d\\n\", getpid()); fflush(stdout); pause();");
    let program = program(&text, &directory);
    let mut command = overtake();
    command.env("TMPDIR", scratch.path()).args(["run", "--"]).arg(&program);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let process = lines.next().expect("a line").expect("text");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    succeed(Command::new("kill").args(["-9", &process]));
    while is_running(&process) {
        std::thread::yield_now();
    }
    let list = succeed(overtake().env("TMPDIR", scratch.path()).arg("finish"));
    let list = String::from_utf8_lossy(&list.stdout).into_owned();
    let log = list.trim_start_matches("overtake finish ").split("    #").next().expect("a log").to_owned();
    let finish = overtake().arg("finish").arg(&log).output().expect("it starts");
    assert_eq!(finish.status.code(), Some(66), "{list}{}", said(&finish));
    assert!(left_in(scratch.path()).is_empty(), "{:?}", left_in(scratch.path()));
}

#[test]
fn links_are_no_logs() {
    let directory = tempfile::tempdir().expect("writable");
    let link = directory.path().join("overtake.1.1");
    std::os::unix::fs::symlink(directory.path(), &link).expect("writable");
    for arguments in [&["finish"][..], &["seal", "-o", "/dev/null"]] {
        let output = overtake().args(arguments).arg(&link).output().expect("it starts");
        assert_eq!(output.status.code(), Some(1));
        assert!(said(&output).contains("expected a log"), "{}", said(&output));
    }
}

/// A program that is started directly knows that nobody reported, and where its log is.
#[test]
fn a_report_for_which_there_is_no_memory_can_be_had_later() {
    let directory = tempfile::tempdir().expect("writable");
    let scratch = tempfile::tempdir().expect("writable");
    let program = program(&racing(""), &directory);
    let little = directory.path().join("little");
    let with_kilobytes = |kilobytes: u32| {
        let own = env!("CARGO_BIN_EXE_overtake");
        std::fs::write(&little, format!("#!/bin/sh\nulimit -v {kilobytes}\nexec {own} \"$@\"\n"))
            .expect("writable");
        succeed(Command::new("chmod").arg("+x").arg(&little));
        Command::new(&little).arg("--version").output().expect("it starts").status.success()
    };
    // An `overtake` with so much memory that it just does not work: how much that is, its size decides.
    let least = (1..1_000).map(|megabytes| megabytes * 1_000).find(|&kilobytes| with_kilobytes(kilobytes));
    let least = least.expect("a gigabyte is enough");
    assert!((1..=10).any(|step| !with_kilobytes(least - 100 * step)), "a megabyte less is too little");
    let mut direct = command(&program);
    let direct = direct.env("TMPDIR", scratch.path()).env("OVERTAKE_BIN", &little).output();
    let direct = direct.expect("it starts");
    assert_eq!(direct.status.code(), Some(1), "{}", said(&direct));
    let said_of_log = said(&direct);
    let log = said_of_log.split_once("overtake finish ").expect("the log is named").1.trim();
    let finish = overtake().arg("finish").arg(log).output().expect("it starts");
    assert_eq!(finish.status.code(), Some(66), "{}", said(&finish));
}

/// Memory that is not there is an error with a message, whenever that turns out.
#[test]
fn an_analysis_that_runs_out_of_memory_says_so() {
    let directory = tempfile::tempdir().expect("writable");
    let trace = directory.path().join("trace.otr");
    let shape = ["gen", "lock-heavy", "--events", "200000", "--threads", "300", "-q", "-o"];
    succeed(overtake().args(shape).arg(&trace));
    let within = |kibibytes: &str, arguments: &[&OsStr]| {
        let limited = format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\"");
        let mut shell = command("sh");
        shell
            .args(["-c", &limited, env!("CARGO_BIN_EXE_overtake")])
            .args(arguments)
            .output()
            .expect("it starts")
    };
    let analyze = |kibibytes: &str| within(kibibytes, &["analyze".as_ref(), "-q".as_ref(), trace.as_ref()]);
    let expected = analyze("unlimited");
    let mut failures = 0;
    // Where the system cannot even load the program, nothing of ours could say anything.
    let starts = |kibibytes: &i32| within(&kibibytes.to_string(), &["--version".as_ref()]).status.success();
    for kibibytes in (20_000..80_000).step_by(6_000).filter(starts) {
        let output = analyze(&kibibytes.to_string());
        if output.status.code() == expected.status.code() {
            assert_eq!(output.stdout, expected.stdout, "{kibibytes} KiB");
            continue;
        }
        failures += 1;
        let said = said(&output);
        let is_loaded = !said.contains("loading shared libraries");
        assert_eq!(output.status.code(), Some(if is_loaded { 1 } else { 127 }), "{kibibytes} KiB: {said}");
        assert!(!is_loaded || said.contains("memory"), "{kibibytes} KiB: {said}");
    }
    assert!(failures > 2, "{failures} limits were too small: that tells nothing");
}

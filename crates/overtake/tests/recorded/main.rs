//! Programs that our compilers compiled: they run, and the reports say what they should.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod advice;
mod arrays;
mod compiling;
mod counts;
mod meanwhile;
mod naming;
#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::programs::{command, compiled, compilers, overtake, said, sources, succeed};

/// How often each program runs; `OVERTAKE_TEST_RUNS` sets it.
const RUNS: usize = 20;

fn runs() -> usize {
    std::env::var("OVERTAKE_TEST_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS)
}

/// `file.c:12` of each line with a comment that says so.
fn marked_lines(source: &Path, mark: &str) -> Vec<String> {
    let name = source.file_name().expect("a name").to_string_lossy();
    let text = std::fs::read_to_string(source).expect("readable");
    let marked = text.lines().enumerate().filter(|(_, line)| line.contains(mark));
    marked.map(|(number, _)| format!("{name}:{}:", number + 1)).collect()
}

#[test]
fn races_are_found_in_every_run() {
    expect_in_every_run("tests/programs/race", "/* race */");
}

#[test]
fn deadlocks_that_did_not_happen_are_found_in_every_run() {
    expect_in_every_run("tests/programs/deadlock", "/* waits */");
}

/// The numbers of heap blocks are those of one run: a headline names what every run has.
#[test]
fn locks_in_heap_blocks_are_named_by_the_line_that_allocates_them() {
    let source =
        sources("tests/programs/deadlock").into_iter().find(|source| source.ends_with("two_nodes.c"));
    let source = source.expect("a program");
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&source, &directory);
    let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
    let report = said(&output);
    let headline = report.lines().find(|line| line.starts_with("1. ")).expect("a finding");
    let allocated = &marked_lines(&source, "/* allocated */")[0];
    let allocated = allocated.trim_end_matches(':');
    assert!(headline.contains("predicted deadlock: 2 locks allocated at "), "{headline}");
    let waits = format!("{allocated}: link_left waits for one while link_right waits for the other");
    assert!(headline.ends_with(&waits), "no {waits} in {headline}");
    let words = report.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("are heap blocks of 48 bytes that were allocated at "), "{report}");
}

/// Each program has one finding, with the two lines that are marked.
fn expect_in_every_run(programs: &str, mark: &str) {
    for source in sources(programs) {
        let directory = tempfile::tempdir().expect("writable");
        let program = compiled(&source, &directory);
        let lines = marked_lines(&source, mark);
        assert_eq!(lines.len(), 2, "{}", source.display());
        for _ in 0..runs() {
            let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
            let report = said(&output);
            assert_eq!(output.status.code(), Some(66), "{}\n{report}", source.display());
            assert!(lines.iter().all(|line| report.contains(line)), "{lines:?} in\n{report}");
            let summary = report.lines().last().expect("a summary");
            assert!(summary.starts_with("1 "), "one finding, not\n{report}");
        }
    }
}

#[test]
fn what_is_ordered_is_never_reported() {
    for source in sources("tests/programs/quiet") {
        let directory = tempfile::tempdir().expect("writable");
        let program = compiled(&source, &directory);
        for _ in 0..runs() {
            let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
            let said = said(&output);
            assert!(said.starts_with("overtake: no race: ") && said.lines().count() == 1, "{said}");
            assert_eq!(output.status.code(), Some(0), "{}", source.display());
        }
    }
}

#[test]
fn a_race_that_hinges_on_what_racy_reads_saw_is_only_possible() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hinges.c");
    let program = compiled(&source, &directory);
    let kept = directory.path().join("kept");
    let output = overtake().args(["run", "--keep"]).arg(&kept).arg("--").arg(&program).output();
    let output = output.expect("it starts");
    let report = said(&output);
    assert_eq!(output.status.code(), Some(66), "{report}");
    assert!(
        report.contains("2. possible race on data") && report.contains("the racy read of `flag`"),
        "{report}"
    );
    assert!(report.ends_with("1 observed race, 1 possible race in hinges\n"), "{report}");

    let trace =
        std::fs::read_dir(&kept).expect("readable").next().expect("a trace").expect("readable").path();
    let text = directory.path().join("run.std");
    succeed(overtake().arg("convert").arg(&trace).arg(&text));
    let text = std::fs::read_to_string(&text).expect("readable");
    let events = text.lines().enumerate().filter(|(_, line)| line.contains("(data[0])"));
    let pair: Vec<String> = events.map(|(index, _)| index.to_string()).collect();
    let answer = succeed(overtake().arg("ask").arg(&trace).args(["--pair", &pair.join(",")]));
    let answer = String::from_utf8_lossy(&answer.stdout).into_owned();
    assert!(
        answer.contains(": a race is possible\n") && answer.contains("possible, not predicted"),
        "{answer}"
    );

    for detector in ["syncp", "osr", "m2", "wcp"] {
        let output = overtake().arg("analyze").arg(&trace).args(["--first", "-d", detector]).output();
        let report = String::from_utf8_lossy(&output.expect("it starts").stdout).into_owned();
        let summary =
            "\n1 observed race, 1 possible race in hinges\n  stopped: nothing was looked for after ";
        assert!(report.contains(summary), "{detector}: {report}");
    }
}

#[test]
fn traces_of_hammered_locks_are_well_formed() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hammer.c");
    let program = compiled(&source, &directory);
    let traces = directory.path().join("traces");
    for exact in [&[][..], &["--exact"]] {
        succeed(overtake().args(["record", "-o"]).arg(&traces).args(exact).arg("--").arg(&program));
    }
    let mut count = 0;
    for entry in std::fs::read_dir(&traces).expect("readable") {
        let trace = entry.expect("readable").path();
        succeed(overtake().args(["validate", "--strict"]).arg(&trace));
        count += 1;
    }
    assert_eq!(count, 2);
}

#[test]
fn what_was_coalesced_is_counted() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("repeats.c");
    let text = "int often;\nint main(void) { for (int i = 0; i < 1000; i++) { often++; __asm__ volatile(\"\" ::: \"memory\"); } return 0; }\n";
    std::fs::write(&source, text).expect("writable");
    let program = compiled(&source, &directory);
    let record = |exact: &[&str]| {
        let mut command = overtake();
        command.args(["record", "-o"]).arg(directory.path()).args(exact).arg("--").arg(&program);
        said(&succeed(&mut command))
    };
    let coalesced = record(&[]);
    let count = coalesced.lines().find_map(|line| line.split_once("left out: at least ")?.1.split_once(' '));
    let count = count.and_then(|(count, _)| count.parse::<u64>().ok());
    assert!(count.is_some_and(|count| (1998..2100).contains(&count)), "{coalesced}");
    assert!(coalesced.contains("last writes: 1\n"), "{coalesced}");
    assert!(!record(&["--exact"]).contains("left out"));
}

#[test]
fn options_of_thread_sanitizer_are_read() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    let log_path = directory.path().join("races");
    for direct in [false, true] {
        let run = |options: &str| {
            let mut run = if direct { command(&program) } else { overtake() };
            if !direct {
                run.args(["run", "--"]).arg(&program);
            }
            run.arg("return").env("TSAN_OPTIONS", options).output().expect("it starts")
        };
        assert_eq!(run("exitcode=7:halt_on_error=1").status.code(), Some(7));
        let output = run("exitcode=0 histry_size=2");
        assert_eq!(output.status.code(), Some(0));
        assert!(said(&output).contains("observed race on shared"), "{}", said(&output));
        let warnings = said(&output).matches("TSAN_OPTIONS: unknown option `histry_size`").count();
        assert_eq!(warnings, 1, "{}", said(&output));
        let output = run("report_bugs=0");
        assert_eq!((output.status.code(), said(&output)), (Some(0), String::new()));
        let output = run(&format!("log_path={}", log_path.display()));
        assert_eq!((output.status.code(), said(&output)), (Some(66), String::new()));
    }
    let logs: Vec<_> = std::fs::read_dir(directory.path())
        .expect("readable")
        .map(|entry| entry.expect("readable").path())
        .collect();
    let logs: Vec<_> = logs.iter().filter(|path| path.with_extension("") == log_path).collect();
    assert_eq!(logs.len(), 2);
    for log in logs {
        assert!(std::fs::read_to_string(log).expect("readable").contains("observed race on shared"));
    }
}

#[test]
fn a_program_that_is_started_directly_reports_as_well() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/race/lock_between.c");
    let program = compiled(&source, &directory);
    let output = command(&program).env("TMPDIR", directory.path()).output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("predicted race on shared"), "{}", said(&output));
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("readable").collect();
    assert_eq!(left.len(), 1, "only the program: {left:?}");
}

#[test]
fn the_exit_code_is_the_programs_own() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("ends.c");
    std::fs::write(
        &source,
        "#include <signal.h>\n#include <stdlib.h>\nint main(int count, char **arguments)\n\
         { (void)arguments; if (count > 1) raise(SIGKILL); exit(9); }\n",
    )
    .expect("writable");
    let program = compiled(&source, &directory);
    let run = |arguments: &[&str]| overtake().arg("run").arg("--").arg(&program).args(arguments).output();
    assert_eq!(run(&[]).expect("it starts").status.code(), Some(9));
    assert_eq!(run(&["killed"]).expect("it starts").status.code(), Some(128 + 9));
    let mut source_run = overtake();
    assert_eq!(source_run.arg("run").arg(&source).output().expect("it starts").status.code(), Some(9));
}

fn ends() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/ends.c")
}

#[test]
fn however_a_program_ends_its_race_is_reported() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    for way in
        ["return", "_exit", "kill", "abort", "fault", "overflow", "fork", "exec", "vfork", "many", "nothing"]
    {
        let output = overtake().args(["run", "--"]).arg(&program).arg(way).output().expect("it starts");
        let report = said(&output);
        let code = if way == "nothing" { 0 } else { 66 };
        assert_eq!(output.status.code(), Some(code), "{way}: {report}");
        assert_eq!(report.matches("observed race on shared").count(), usize::from(code != 0), "{report}");
        assert!(!report.contains("missing") && !report.contains("damaged"), "{way}: {report}");
    }
}

#[test]
fn what_did_not_fit_is_counted() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    let mut full = command("sh");
    full.args(["-c", "ulimit -f 2000; exec \"$0\" run -- \"$1\" volume"]);
    let output = full.arg(env!("CARGO_BIN_EXE_overtake")).arg(&program).output().expect("it starts");
    let report = said(&output);
    assert_eq!(output.status.code(), Some(66), "what came before is analysed: {report}");
    let missing = report.lines().find(|line| line.contains("bytes of the log could not be written"));
    assert!(missing.is_some(), "{report}");

    let output = overtake().args(["run", "--max-size", "1M", "--"]).arg(&program).arg("volume").output();
    let output = output.expect("it starts");
    let report = said(&output);
    assert!(report.contains("bytes of the log were dropped because of the size limit"), "{report}");
    assert_eq!(output.status.code(), Some(0), "the race is among the oldest: {report}");
}

#[test]
fn what_was_handed_over_in_a_part_that_is_lost_is_no_race() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/handed_over_early.c");
    let program = compiled(&source, &directory);
    for limit in ["1M", "1G"] {
        let output =
            overtake().args(["run", "--max-size", limit, "--"]).arg(&program).output().expect("it starts");
        let report = said(&output);
        let is_cut = report.contains("bytes of the log were dropped because of the size limit");
        assert_eq!(is_cut, limit != "1G", "{report}");
        assert_eq!(output.status.code(), Some(0), "{limit}: {report}");
    }
}

/// Needs root, who can mount a small file system. Other users have the test with `ulimit -f` above, which leaves room for the trace.
#[test]
fn a_disk_that_is_really_full_takes_no_report_away() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).expect("writable");
    let ways: [&[&str]; 2] = [&[env!("CARGO_BIN_EXE_overtake"), "run", "--"], &[]];
    for way in ways {
        let mut full = command("unshare");
        full.args(["--mount", "sh", "-c", &on_a_small_disk("\"$0\" \"$@\"")]).args(way);
        full.arg(&program).arg("volume").env("TMPDIR", &disk);
        let Some(output) = permitted(full) else { return };
        let report = said(&output);
        assert_eq!(output.status.code(), Some(66), "{report}");
        assert!(report.contains("bytes of the log could not be written"), "{report}");
        assert!(report.contains("observed race on shared"), "{report}");
    }
}

#[test]
fn a_log_takes_half_of_the_free_disk_at_most() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).expect("writable");
    let way = "OVERTAKE_LOG=\"$TMPDIR\" \"$1\" volume; stat -f -c 'free %a of %b' \"$TMPDIR\"; \"$0\" run -- \"$1\" volume";
    let mut full = command("unshare");
    full.args(["--mount", "sh", "-c", &on_a_disk_of("4M", way)]);
    full.arg(env!("CARGO_BIN_EXE_overtake")).arg(&program).env("TMPDIR", &disk);
    let Some(output) = permitted(full) else { return };
    let told = format!("{}{}", said(&output), String::from_utf8_lossy(&output.stdout));
    let words = told.lines().find_map(|line| line.strip_prefix("free ")).expect("stat prints a line");
    let (free, all) = words.split_once(" of ").expect("two numbers");
    let [free, all] = [free, all].map(|number| number.parse::<u64>().expect("a number"));
    assert!(free * 3 > all, "half but for the tails of two threads: {told}");
    assert!(told.contains("could not be written: the log has taken half of the disk's free space"), "{told}");
    assert_eq!(output.status.code(), Some(66), "what came before is analysed: {told}");
}

/// As above, where the traces go to the disk that the log filled: a size limit that is larger than the disk.
#[test]
fn a_log_for_whose_trace_there_is_no_room_is_kept() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).expect("writable");
    let ways = [
        ("\"$0\" record --max-size 1G -o \"$TMPDIR\" -- \"$1\" volume; echo code $?", "code 1\n"),
        ("\"$0\" run --max-size 1G --keep \"$TMPDIR\" -- \"$1\" volume 2>&1; echo code $?", "code 66\n"),
    ];
    for (way, code) in ways {
        let mut full = command("unshare");
        let later = "\"$0\" seal \"$TMPDIR\"/overtake.* -o \"$2\"; \"$0\" analyze \"$2\"";
        full.args(["--mount", "sh", "-c", &on_a_small_disk(&format!("{way}; {later}"))]);
        full.arg(env!("CARGO_BIN_EXE_overtake")).arg(&program).arg(directory.path().join("later.otr"));
        full.env("TMPDIR", &disk);
        let Some(output) = permitted(full) else { return };
        let told = format!("{}{}", said(&output), String::from_utf8_lossy(&output.stdout));
        assert!(told.contains("the log is kept, `overtake seal ") && told.contains(code), "{way}: {told}");
        assert!(told.contains("bytes of the log could not be written"), "{way}: {told}");
        let reports = told.matches("race on shared").count();
        assert_eq!(reports, if code == "code 66\n" { 2 } else { 1 }, "{way}: {told}");
    }
}

/// A shell command that does `then` on a small file system of its own.
fn on_a_small_disk(then: &str) -> String {
    on_a_disk_of("1M", then)
}

fn on_a_disk_of(size: &str, then: &str) -> String {
    format!("mount -t tmpfs -o size={size} none \"$TMPDIR\" || exit 99; {then}")
}

/// The output of a command, if it is permitted here.
fn permitted(mut command: Command) -> Option<Output> {
    let output = command.output().ok()?;
    let refused = matches!(output.status.code(), Some(1 | 99)) && said(&output).contains("ermi");
    (!refused).then_some(output)
}

#[test]
fn a_program_starts_under_a_debugger() {
    if Command::new("gdb").arg("--version").output().is_err() {
        return; // not every machine has it
    }
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    let mut debugger = command("gdb");
    debugger.args(["-nx", "-batch", "-ex", "run", "-ex", "bt", "--args"]).arg(&program).arg("return");
    let output = debugger.env("TMPDIR", directory.path()).output().expect("it starts");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(told.contains("exited with code 0102"), "66: {told} {}", said(&output)); // octal
}

#[test]
fn every_process_has_its_trace() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("family.c");
    std::fs::write(
        &source,
        "#include <pthread.h>\n#include <sys/wait.h>\n#include <unistd.h>\nint x;\n\
         void *run(void *unused) { x = 1; return unused; }\n\
         int main(void) { pthread_t thread; if (fork() == 0) { pthread_create(&thread, 0, run, 0); x = 2;\n\
         pthread_join(thread, 0); _exit(0); } wait(0); return 0; }\n",
    )
    .expect("writable");
    let program = compiled(&source, &directory);
    let traces = directory.path().join("traces");
    let output = overtake().args(["run", "--keep"]).arg(&traces).arg("--").arg(&program).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(66), "the child races: {}", said(&output));
    assert_eq!(std::fs::read_dir(&traces).expect("readable").count(), 2);
}

/// The reports of all runs are the same, byte by byte, whatever their timing was, and their results fit the schema.
#[test]
fn examples_are_reported_as_expected() {
    let directory = tempfile::tempdir().expect("writable");
    let path = |format: &str| directory.path().join(format!("report.{format}"));
    let read = |format: &str| std::fs::read_to_string(path(format)).expect("a report");
    for source in sources("../../examples") {
        let program = compiled(&source, &directory);
        let mut earlier: Option<[String; 3]> = None;
        // Once as people do it, then many times.
        for program in [&source].into_iter().chain(std::iter::repeat_n(&program, runs().min(5))) {
            let mut run = overtake();
            run.current_dir(source.parent().expect("a directory")).arg("run");
            for format in ["result", "text", "tsan", "sarif"] {
                run.arg("--report").arg(format!("{format}={}", path(format).display()));
            }
            let output = run.arg(program).output().expect("it starts");
            // The message of a clean run contains times.
            let said = said(&output);
            let told: String = said
                .lines()
                .filter(|line| !line.contains("no race: "))
                .map(|line| format!("{line}\n"))
                .collect();
            let found = format!("{told}exit code {}\n", output.status.code().unwrap_or(-1));
            // The summary names what was run, the source or the program.
            let [file, stem] = [source.file_name(), source.file_stem()].map(|name| name.expect("a name"));
            let [file, stem] = [file, stem].map(|name| format!(" in {}\n", name.to_string_lossy()));
            expect_report(&source, &found.replace(&file, &stem));
            assert!(!output.stdout.is_empty(), "what the program prints is its own");
            let stored = serde_json::from_str(&read("result")).expect("JSON");
            support::schema::check_result(&stored);
            assert_eq!(stored["runs"][0]["command"][0], *program.to_string_lossy());
            // The command is part of a report.
            if program != &source {
                let reports = ["text", "tsan", "sarif"].map(read);
                assert_eq!(*earlier.get_or_insert_with(|| reports.clone()), reports, "{}", source.display());
            }
        }
    }
}

#[track_caller]
fn expect_report(source: &Path, found: &str) {
    let expected = source.with_extension("expected");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&expected, found).expect("writable");
    }
    let wanted = std::fs::read_to_string(&expected).unwrap_or_default();
    if compilers()[0].0.contains("gcc") {
        assert_eq!(found, wanted, "{}", source.display());
    }
    assert_eq!(gist(found), gist(&wanted), "{}\n{found}", source.display());
}

/// What all compilers agree on: the races and their lines, but not columns, names of lambdas, and fingerprints, which contain such names.
fn gist(report: &str) -> Vec<&str> {
    let lines = report.lines().filter(|line| !line.starts_with(' ') && !line.is_empty());
    lines
        .map(|line| {
            line.split(": ").next().unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_hexdigit())
        })
        .collect()
}

#[test]
fn fingerprints_survive_edits_elsewhere_and_everything_a_run_numbers() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("racy.c");
    let code = "#include <pthread.h>\nint shared, other;\nvoid *racer(void *unused) { shared = 1; other++; return unused; }\n\
                int main(void) { pthread_t thread; pthread_create(&thread, 0, racer, 0); shared = 2; other++;\n\
                return pthread_join(thread, 0); }\n";
    let result = directory.path().join("result.json");
    let fingerprints = |code: &str| -> Vec<String> {
        std::fs::write(&source, code).expect("writable");
        let program = compiled(&source, &directory);
        let target = format!("result={}", result.display());
        overtake().args(["run", "--report", &target]).arg(&program).output().expect("it starts");
        let stored: serde_json::Value =
            serde_json::from_slice(&std::fs::read(&result).expect("a result")).expect("JSON");
        let findings = stored["findings"].as_array().expect("findings").iter();
        let mut fingerprints: Vec<_> =
            findings.map(|finding| finding["fingerprint"].as_str().expect("text").to_owned()).collect();
        fingerprints.sort();
        fingerprints
    };
    let expected = fingerprints(code);
    assert_eq!(expected.len(), 2);
    let moved = format!(
        "/* a new line */\n\n{}",
        code.replace("int main", "int before; int unused(void) { return before; }\nint main")
    );
    assert_eq!(fingerprints(&moved), expected, "lines above");
    let one_thread_before = code.replace(
        "pthread_t thread;",
        "pthread_t thread; pthread_create(&thread, 0, idle, 0); pthread_join(thread, 0);",
    );
    let one_thread_before =
        one_thread_before.replace("void *racer", "void *idle(void *unused) { return unused; }\nvoid *racer");
    assert_eq!(fingerprints(&one_thread_before), expected, "another thread number");
    assert_ne!(fingerprints(&code.replace("racer", "runner")), expected, "another function");
}

#[test]
fn paths_in_sarif_are_relative_to_the_repository() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bank.c");
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&source, &directory);
    let root = source.parent().and_then(Path::parent).expect("the repository");
    let mut run = overtake();
    run.current_dir(root).args(["run", "--report", "sarif=-", "--"]).arg(&program);
    let output = run.output().expect("it starts");
    assert_eq!(output.status.code(), Some(66));
    let report = String::from_utf8_lossy(&output.stdout).into_owned();
    let place = "\"uri\":\"examples/bank.c\",\"uriBaseId\":\"%SRCROOT%\"},\"region\":{\"startLine\":15";
    assert!(report.contains(place), "{report}");
}

#[test]
fn programs_may_suppress_their_own_races() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("own.c");
    let bank = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/bank.c");
    let own = "const char *__tsan_default_suppressions(void) { return \"race:^transfers$\\n\"; }\n";
    std::fs::write(&source, std::fs::read_to_string(bank).expect("readable") + own).expect("writable");
    let program = compiled(&source, &directory);
    let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("1 race suppressed by 1 rule"), "{}", said(&output));
}

/// A signal may come before a thread has said that it started: what its handler does is the thread's.
#[test]
fn every_thread_is_forked_and_joined_whatever_signals_come() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("alarmed.c");
    let code = "#include <pthread.h>\n#include <signal.h>\n#include <sys/time.h>\nstatic volatile int alarms;\n\
        static void note(int signal) { alarms = signal; }\n\
        static void *nothing(void *unused) { return unused; }\n\
        int main(void) { struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};\n\
        signal(SIGALRM, note); setitimer(ITIMER_REAL, &often, 0);\n\
        for (int i = 0; i < 200; i++) { pthread_t thread; if (pthread_create(&thread, 0, nothing, 0)) return 1; pthread_join(thread, 0); }\n\
        setitimer(ITIMER_REAL, &never, 0); return 0; }\n";
    std::fs::write(&source, code).expect("writable");
    let program = compiled(&source, &directory);
    let traces = directory.path().join("traces");
    succeed(overtake().args(["record", "-o"]).arg(&traces).arg("--").arg(&program));
    let trace =
        std::fs::read_dir(&traces).expect("a directory").next().expect("a trace").expect("readable").path();
    let text = succeed(overtake().arg("convert").arg(&trace).args(["-", "--to", "std"])).stdout;
    let text = String::from_utf8_lossy(&text);
    let mut threads = std::collections::BTreeSet::new();
    for line in text.lines() {
        let thread = line.split('|').next().expect("a thread");
        if thread != "T0" && threads.insert(thread.to_owned()) {
            for operation in ["fork", "join"] {
                assert!(text.contains(&format!("T0|{operation}({thread})")), "{operation} of {thread}");
            }
        }
    }
    assert!(text.matches("T0|fork(").count() == 200, "{}", text.matches("T0|fork(").count());
}

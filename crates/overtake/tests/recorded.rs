//! Programs compiled with our compilers, run, and what is said of them.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::programs::{command, compiled, compilers, overtake, said, sources, succeed};

/// How often each program runs; `OVERTAKE_TEST_RUNS` says otherwise.
const RUNS: usize = 20;

fn runs() -> usize {
    std::env::var("OVERTAKE_TEST_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(RUNS)
}

/// `file.c:12` of each line with a comment that says so.
fn racy_lines(source: &Path) -> Vec<String> {
    let name = source.file_name().expect("a name").to_string_lossy();
    let text = std::fs::read_to_string(source).expect("readable");
    let marked = text.lines().enumerate().filter(|(_, line)| line.contains("/* race */"));
    marked.map(|(number, _)| format!("{name}:{}:", number + 1)).collect()
}

#[test]
fn races_are_found_in_every_run() {
    for source in sources("tests/programs/race") {
        let directory = tempfile::tempdir().expect("writable");
        let program = compiled(&source, &directory);
        let lines = racy_lines(&source);
        assert_eq!(lines.len(), 2, "{}", source.display());
        for _ in 0..runs() {
            let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
            let report = said(&output);
            assert_eq!(output.status.code(), Some(66), "{}\n{report}", source.display());
            assert!(lines.iter().all(|line| report.contains(line)), "{lines:?} in\n{report}");
            let summary = report.lines().last().expect("a summary");
            assert!(summary.starts_with("1 "), "one race, not\n{report}");
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
    let count = coalesced.lines().find_map(|line| line.split_once("coalesced: at least ")?.1.split_once(' '));
    let count = count.and_then(|(count, _)| count.parse::<u64>().ok());
    assert!(count.is_some_and(|count| (1998..2100).contains(&count)), "{coalesced}");
    assert!(coalesced.contains(" 1 closing writes"), "{coalesced}");
    assert!(!record(&["--exact"]).contains("coalesced"));
}

#[test]
fn options_of_thread_sanitizer_are_heard() {
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
        let warnings = said(&output).matches("TSAN_OPTIONS: no option is called `histry_size`").count();
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
fn lines_of_the_program_are_named_not_of_the_cpp_library() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/library_threads.cpp");
    let text = std::fs::read_to_string(&source).expect("readable");
    let line = |comment: &str| {
        let at = text.lines().position(|line| line.ends_with(comment)).expect("a line with this comment");
        format!("library_threads.cpp:{}:", at + 1)
    };
    for options in [&["-O0"][..], &["-O2"], &["-O2", "-static-libstdc++"]] {
        let program = directory.path().join("threads");
        succeed(overtake().args(["c++", "-pthread", "-o"]).arg(&program).args(options).arg(&source));
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        let report = said(&output);
        assert_eq!(output.status.code(), Some(66), "{report}");
        assert!(report.ends_with("2 observed races in threads\n"), "{report}");
        if !options.contains(&"-static-libstdc++") {
            assert!(!report.contains("libstdc++"), "{options:?}\n{report}");
            let started = report.lines().filter(|line| line.contains("was started by T0 at"));
            let comments = ["// started here", "// async here"];
            for (started, comment) in started.zip(comments) {
                assert!(started.contains(&line(comment)), "{options:?} {comment}\n{report}");
            }
            assert!(report.contains(&line("// waits here")), "{options:?}\n{report}");
        }
    }
}

#[test]
fn nothing_of_libtsan_is_linked() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/race/lock_between.c");
    let object = directory.path().join("object.o");
    let response = directory.path().join("arguments");
    succeed(overtake().args(["cc", "-c", "-fsanitize=thread", "-o"]).arg(&object).arg(&source));
    std::fs::write(&response, format!("-fsanitize=thread '{}' -pthread\n", object.display()))
        .expect("writable");
    let apart = directory.path().join("apart");
    succeed(overtake().args(["cc", "-o"]).arg(&apart).arg(format!("@{}", response.display())));
    let whole = directory.path().join("whole");
    succeed(overtake().args(["cc", "-fsanitize=thread", "-pthread", "-o"]).arg(&whole).arg(&source));
    for program in [apart, whole] {
        let bytes = std::fs::read(&program).expect("readable");
        assert!(!bytes.windows(7).any(|bytes| bytes == b"libtsan"), "{}", program.display());
        assert_eq!(command(&program).output().expect("it starts").status.code(), Some(66));
    }
}

#[test]
fn shared_libraries_record_into_the_log_of_the_program() {
    let directory = tempfile::tempdir().expect("writable");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("library.c"), "int counter; void bump(void) { counter++; }\n").expect("writable");
    std::fs::write(
        path("main.c"),
        "#include <dlfcn.h>\n#include <pthread.h>\nvoid (*bump)(void);\n\
         void *run(void *unused) { bump(); return unused; }\n\
         int main(void) { pthread_t thread; bump = dlsym(dlopen(LIBRARY, RTLD_NOW), \"bump\");\n\
         pthread_create(&thread, 0, run, 0); bump(); pthread_join(thread, 0); return 0; }\n",
    )
    .expect("writable");
    let library = path("library.so");
    succeed(
        overtake().args(["cc", "-shared", "-fPIC", "-Wl,-z,defs", "-o"]).arg(&library).arg(path("library.c")),
    );
    let define = format!("-DLIBRARY=\"{}\"", library.display());
    succeed(overtake().args(["cc", &define, "-pthread", "-o"]).arg(path("main")).arg(path("main.c")));
    let output = overtake().args(["run", "--"]).arg(path("main")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("bump ") && said(&output).contains("library.c:1"), "{}", said(&output));
}

#[test]
fn questions_go_to_the_real_compiler() {
    for question in [&["--version"][..], &["-dumpmachine"], &["-print-prog-name=ld"]] {
        let ours = overtake().arg("cc").args(question).env("OVERTAKE_CC", "gcc").output().expect("it starts");
        let theirs = command("gcc").args(question).output().expect("it starts");
        assert_eq!((ours.stdout, ours.stderr, ours.status), (theirs.stdout, theirs.stderr, theirs.status));
    }
}

/// Everything that builds and configure scripts ask of a compiler besides compiling a file into a program.
#[test]
fn the_compilers_do_what_compilers_do() {
    let directory = tempfile::tempdir().expect("writable");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("a.c"), "int x; int main(void) { x = 1; return 0; }\n").expect("writable");
    std::fs::write(path("start.s"), ".globl main\nmain: xor %eax, %eax\nret\n.section .note.GNU-stack\n")
        .expect("writable");
    for (compiler, _) in &compilers() {
        let cc = |arguments: &[&str]| {
            let mut cc = overtake();
            cc.arg("cc").args(arguments).current_dir(directory.path()).env("OVERTAKE_CC", compiler);
            cc.output().expect("it starts")
        };
        // Silent as the real one, also when it links: configure scripts take any word for a failure.
        let quietly = |arguments: &[&str]| {
            let output = cc(arguments);
            assert!(output.status.success(), "{compiler} {arguments:?}: {}", said(&output));
            assert_eq!(said(&output), "", "{compiler} {arguments:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let symbols = |file: &str| {
            let output = succeed(command("nm").arg(path(file)));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(quietly(&["-E", "a.c"]).contains("int main(void) { x = 1;"));
        assert!(quietly(&["-S", "a.c", "-o", "-"]).contains("__tsan_write4"));
        assert!(quietly(&["-MM", "a.c"]).starts_with("a.o: a.c"));
        assert_eq!(quietly(&["-fsyntax-only", "a.c"]), "");
        quietly(&["-c", "a.c"]);
        assert!(symbols("a.o").contains("U __tsan_write4"));
        quietly(&["-r", "-nostdlib", "a.o", "-o", "both.o"]);
        assert!(symbols("both.o").contains("U __tsan_write4"), "objects are joined, not linked");
        quietly(&["-shared", "-fPIC", "a.c", "-o", "a.so"]);
        assert!(!symbols("a.so").contains("T __tsan_write4"), "there is one recorder, in the program");
        std::fs::write(path("arguments"), "'a.o' -o \"from response\"\n").expect("writable");
        let ways: [(&[&str], &str); 5] = [
            (&["a.c"], "a.out"),
            (&["a.o", "-o", "from object"], "from object"),
            (&["@arguments"], "from response"),
            (&["start.s", "-o", "from assembly"], "from assembly"),
            (&["-O2", "-flto", "-fsanitize=thread", "a.c", "-o", "optimised"], "optimised"),
        ];
        for (arguments, program) in ways {
            quietly(arguments);
            let output = command(path(program)).output().expect("it starts");
            assert_eq!((output.status.code(), &*said(&output)), (Some(0), ""), "{compiler} {arguments:?}");
        }
        let refused = cc(&["missing.c"]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(said(&refused).contains("missing.c"), "{}", said(&refused));
    }
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
    assert!(report.contains("bytes of the log, the oldest, gave way to the size limit"), "{report}");
    assert_eq!(output.status.code(), Some(0), "the race is among the oldest: {report}");
}

/// Needs to be root, for a file system of its own. Others have `ulimit -f` above, which leaves room for the trace.
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

/// As above, where the traces go to the disk that the log filled.
#[test]
fn a_log_for_whose_trace_there_is_no_room_is_kept() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&ends(), &directory);
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).expect("writable");
    let ways = [
        ("\"$0\" record -o \"$TMPDIR\" -- \"$1\" volume; echo code $?", "code 1\n"),
        ("\"$0\" run --keep \"$TMPDIR\" -- \"$1\" volume 2>&1; echo code $?", "code 66\n"),
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

/// What a shell does on a file system of its own, which has little room.
fn on_a_small_disk(then: &str) -> String {
    format!("mount -t tmpfs -o size=1M none \"$TMPDIR\" || exit 99; {then}")
}

/// What became of a command that may not be permitted.
fn permitted(mut command: Command) -> Option<Output> {
    let output = command.output().ok()?;
    let refused = matches!(output.status.code(), Some(1 | 99)) && said(&output).contains("ermi");
    (!refused).then_some(output)
}

#[test]
fn a_program_starts_under_a_debugger() {
    if Command::new("gdb").arg("--version").output().is_err() {
        return; // the one thing here that not every machine has
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
        // As people do it, then often.
        for program in [&source].into_iter().chain(std::iter::repeat_n(&program, runs().min(5))) {
            let mut run = overtake();
            run.current_dir(source.parent().expect("a directory")).arg("run");
            for format in ["result", "text", "tsan", "sarif"] {
                run.arg("--report").arg(format!("{format}={}", path(format).display()));
            }
            let output = run.arg(program).output().expect("it starts");
            // What a clean run says has times in it.
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

/// What all compilers agree on: the races and their lines, without columns, names of lambdas, and fingerprints, which have them in.
fn gist(report: &str) -> Vec<&str> {
    let lines = report.lines().filter(|line| !line.starts_with(' ') && !line.is_empty());
    lines
        .map(|line| {
            line.split(": ").next().unwrap_or_default().trim_end_matches(|c: char| c.is_ascii_hexdigit())
        })
        .collect()
}

#[test]
fn what_is_not_known_of_a_program_is_left_out() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("racy.c");
    std::fs::write(
        &source,
        "#include <pthread.h>\nint shared;\nvoid *racer(void *unused) { shared = 1; return unused; }\n\
         int main(void) { pthread_t thread; pthread_create(&thread, 0, racer, 0); shared = 2;\n\
         return pthread_join(thread, 0); }\n",
    )
    .expect("writable");
    let program = compiled(&source, &directory);
    let report = || {
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        said(&output)
    };
    assert!(report().contains("> 3 | void *racer(void *unused) { shared = 1; return unused; }"));
    std::fs::remove_file(&source).expect("removable");
    let without_source = report();
    assert!(without_source.contains("racy.c:3:") && !without_source.contains(" | "), "{without_source}");
    succeed(command("strip").arg("--strip-debug").arg(&program));
    let without_lines = report();
    assert!(
        without_lines.contains("#0 racer (racy)") && !without_lines.contains("racy.c"),
        "{without_lines}"
    );
    succeed(command("strip").arg("--strip-all").arg(&program));
    let stripped = report();
    assert!(stripped.contains("#0 (racy+0x") && !stripped.contains("racer"), "{stripped}");
}

#[test]
fn members_of_globals_are_named() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("members.cpp");
    let code = "#include <atomic>\n#include <pthread.h>\n\
        struct Base { long id; };\n\
        struct Counter : Base { struct { int hits; int misses; }; const char *name; };\n\
        namespace stats { struct Table { int size; Counter rows[4][3]; union { int a; float b; } either; } table; }\n\
        typedef volatile struct { char flag; short values[8]; } Flags;\n\
        static Flags flags;\n\
        int plain;\n\
        static void touch(int value) {\n\
        static struct { int calls[2]; } local;\n\
        plain = value;\n\
        stats::table.rows[2][1].misses = value;\n\
        stats::table.either.a = value;\n\
        flags.values[5] = value;\n\
        local.calls[1] = value; }\n\
        void *racer(void *unused) { touch(1); return unused; }\n\
        int main() { pthread_t thread; pthread_create(&thread, nullptr, racer, nullptr);\n\
        touch(2); return pthread_join(thread, nullptr); }\n";
    std::fs::write(&source, code).expect("writable");
    for (_, compiler) in &compilers() {
        for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
            let program = directory.path().join("members");
            let mut build = overtake();
            build.args(["c++", dwarf, "-Wno-unused", "-pthread", "-o"]).arg(&program).arg(&source);
            succeed(build.env("OVERTAKE_CXX", compiler));
            let run = |arguments: &[&str]| {
                let mut run = overtake();
                let output = run.arg("run").args(arguments).arg("--").arg(&program).output();
                said(&output.expect("it starts"))
            };
            let report = run(&["-q"]);
            let named = ["plain", "stats::table.rows[2][1].misses", "stats::table.either", "flags.values[5]"];
            for name in named.into_iter().chain(["local.calls[1]"]) {
                let is_told = report.lines().any(|line| match name {
                    // The symbol of a variable in a function is told apart by what its compiler pleases.
                    "local.calls[1]" => line.contains("local") && line.contains(".calls[1]: "),
                    name => line.contains(&format!("race on {name}: ")),
                });
                assert!(is_told, "{compiler} {dwarf} {name}\n{report}");
            }
            let report = run(&[]);
            assert!(report.contains(" of the global stats::table, "), "{report}");
            // Rules name the whole or the member.
            let rules = directory.path().join("rules");
            std::fs::write(&rules, "race:^stats::table$\nrace:^flags.values[5]$\n").expect("writable");
            let judged = run(&["--suppressions", &rules.to_string_lossy()]);
            assert!(judged.contains("3 races suppressed by 2 rules"), "{judged}");
        }
    }
}

/// Names in a file system are bytes, and those of C++ are as long as types are.
#[test]
fn strange_names_are_told_as_well_as_can_be() {
    let directory = tempfile::tempdir().expect("writable");
    let home = directory.path().join(OsStr::from_bytes(b"caf\xe9 \n|<b>"));
    std::fs::create_dir(&home).expect("any name will do");
    let source = home.join(OsStr::from_bytes(b"names \xff.cpp"));
    let code = "#include <pthread.h>\nstruct Global { int first, second; } shared;\n\
        template <class T> struct WrapperWithARatherLongName {};\n\
        template <class T, int N> struct Deep { using type = WrapperWithARatherLongName<typename Deep<T, N - 1>::type>; };\n\
        template <class T> struct Deep<T, 0> { using type = T; };\n\
        template <class T> __attribute__((noinline)) void touch(T *, int value) { shared.second = value; }\n\
        using Long = Deep<int, 80>::type;\n\
        void *racer(void *unused) { touch((Long *)nullptr, 1); return unused; }\n\
        int main() { pthread_t thread; pthread_create(&thread, nullptr, racer, nullptr);\n\
        touch((Long *)nullptr, 2); return pthread_join(thread, nullptr); }\n";
    std::fs::write(&source, code).expect("writable");
    let program = home.join(OsStr::from_bytes(b"names \xff"));
    succeed(overtake().args(["c++", "-pthread", "-o"]).arg(&program).arg(&source));
    let file = |format: &str| home.join(OsStr::from_bytes(&[format.as_bytes(), b" \xff"].concat()));
    let formats = ["text", "tsan", "sarif", "json", "perfetto", "html", "result"];
    let report = || {
        let mut run = overtake();
        run.arg("run");
        for format in formats {
            let mut target = std::ffi::OsString::from(format!("{format}="));
            target.push(file(format));
            run.arg("--report").arg(target);
        }
        let output = run.arg("--").arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        for format in formats {
            let report = std::fs::read(file(format)).expect("a report");
            assert!(String::from_utf8(report).is_ok(), "{format}");
        }
        support::schema::check_result(
            &serde_json::from_slice(&std::fs::read(file("result")).expect("a result")).expect("JSON"),
        );
        said(&output)
    };
    let told = report();
    assert!(told.contains("#0 touch") && told.contains("names \u{fffd}.cpp:6:"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() < 400), "{told}");
    let stored = std::fs::read_to_string(file("result")).expect("a result");
    assert!(stored.contains(&"WrapperWithARatherLongName<".repeat(80)), "the whole name is kept");
    // Without symbols: where in which module.
    succeed(command("strip").arg(&program));
    let stripped = report();
    assert!(stripped.contains("race on data of names \u{fffd}+"), "{stripped}");
    assert!(stripped.contains("#0 (names \u{fffd}+0x"), "{stripped}");
    assert!(!stripped.contains("unknown location"), "{stripped}");
}

#[test]
fn a_program_that_is_gone_when_it_is_asked_about_is_told_by_its_name() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("gone.c");
    let code = "#include <pthread.h>\n#include <unistd.h>\nint shared;\n\
        void *racer(void *unused) { shared = 1; return unused; }\n\
        int main(int count, char **arguments) { pthread_t thread; pthread_create(&thread, 0, racer, 0);\n\
        shared = 2; pthread_join(thread, 0); return count == 1 ? unlink(arguments[0]) : 1; }\n";
    std::fs::write(&source, code).expect("writable");
    let report = || {
        let program = compiled(&source, &directory);
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        said(&output)
    };
    let first = report();
    assert!(first.contains("race on data of gone+") && first.contains("#0 (gone+0x"), "{first}");
    assert_eq!(report(), first, "addresses have no part in it");
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

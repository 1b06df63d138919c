//! Programs that misuse locks, threads and signals, and what reports say about them.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::path::Path;
use std::process::Command;

use support::programs::{compiled, overtake, said, sources};

/// The rule that the first line of a program names, and `file.c:12` of the line with a comment that says so; then that of the line which
/// freed the block before, if there is one.
fn expected(source: &Path) -> (String, String, Option<String>) {
    let name = source.file_name().expect("a name").to_string_lossy();
    let text = std::fs::read_to_string(source).expect("readable");
    let first = text.lines().next().expect("a line");
    let rule = first.strip_prefix("/* Finds ").and_then(|rest| rest.split_once(':')).expect("a rule").0;
    let line_with = |comment: &str| {
        let line = text.lines().position(|line| line.contains(comment));
        line.map(|line| format!("{name}:{}", line + 1))
    };
    (rule.to_owned(), line_with("/* misuse */").expect("a marked line"), line_with("/* freed */"))
}

#[test]
fn misuses_are_found_in_every_run_in_every_form() {
    for source in sources("tests/programs/misuse") {
        let directory = tempfile::tempdir().expect("writable");
        let program = compiled(&source, &directory);
        let (rule, line, freed) = expected(&source);
        for round in 0..3 {
            let [json, sarif, tsan] = ["json", "sarif", "tsan"].map(|form| directory.path().join(form));
            let mut run = overtake();
            let kept = directory.path().join(format!("kept-{round}.otr"));
            run.arg("run").arg("--keep").arg(&kept);
            for (form, file) in [("json", &json), ("sarif", &sarif), ("tsan", &tsan)] {
                run.arg("--report").arg(format!("{form}={}", file.display()));
            }
            let output = run.arg("--").arg(&program).output().expect("it starts");
            let report = said(&output);
            assert_eq!(output.status.code(), Some(66), "{}\n{report}", source.display());
            assert!(report.contains(&line), "{line} in\n{report}");
            let json = std::fs::read_to_string(json).expect("written");
            assert_eq!(json.matches("\"kind\": \"misuse\"").count(), 1, "{json}");
            assert!(json.contains(&format!("\"rule\": \"{rule}\"")), "{rule} in {json}");
            let sarif = std::fs::read_to_string(sarif).expect("written");
            assert!(sarif.contains(&rule), "{sarif}");
            let tsan = std::fs::read_to_string(tsan).expect("written");
            assert!(tsan.contains("WARNING: ThreadSanitizer: ") && tsan.contains(&line), "{tsan}");
            if let Some(freed) = &freed {
                assert!(
                    report.contains("memory  a heap block of 64 bytes, allocated by T0")
                        && report.contains("freed   by T1")
                        && report.contains(freed),
                    "{freed} in\n{report}"
                );
                assert!(json.contains("\"freed_by\": \"T1\""), "{json}");
                assert!(tsan.contains("Freed by thread T1") && tsan.contains(freed), "{tsan}");
                assert!(sarif.contains("free of a heap block"), "{sarif}");
                let analysed = overtake().arg("analyze").arg(&kept).output().expect("it starts");
                let kept = String::from_utf8_lossy(&analysed.stdout);
                assert!(kept.contains("freed   by T1") && kept.contains(freed), "{kept}");
            }
        }
    }
}

#[test]
fn misuses_can_be_suppressed_and_turned_off() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/misuse/unlock_of_unlocked.c");
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(&source, &directory);
    let rules = directory.path().join("rules");
    std::fs::write(&rules, "mutex:main\n").expect("writable");
    let suppressed = format!("suppressions={}", rules.display());
    for (options, code) in [("", 66), (&*suppressed, 0), ("report_mutex_bugs=0", 0), ("exitcode=3", 3)] {
        let run = overtake().env("TSAN_OPTIONS", options).args(["run", "--"]).arg(&program).output();
        let output = run.expect("it starts");
        assert_eq!(output.status.code(), Some(code), "{options}: {}", said(&output));
    }
}

#[test]
fn deadlocks_and_races_of_atomics_can_be_turned_off() {
    let cases =
        [("deadlock/condition.c", "detect_deadlocks"), ("race/atomic_and_plain.c", "report_atomic_races")];
    for (source, option) in cases {
        let directory = tempfile::tempdir().expect("writable");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let program = compiled(&source, &directory);
        for (value, code) in [("1", 66), ("0", 0)] {
            let options = format!("{option}={value}");
            let run = overtake().env("TSAN_OPTIONS", &options).args(["run", "--"]).arg(&program).output();
            let output = run.expect("it starts");
            assert_eq!(output.status.code(), Some(code), "{options}: {}", said(&output));
        }
    }
}

/// A program of `tests/programs/directly`, compiled.
fn direct(name: &str, directory: &tempfile::TempDir) -> std::path::PathBuf {
    compiled(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/directly").join(name), directory)
}

#[test]
fn a_program_that_dies_in_a_thread_that_has_ended_still_reports() {
    let directory = tempfile::tempdir().expect("writable");
    let output = Command::new(direct("dies_at_end.c", &directory)).output().expect("it starts");
    let report = said(&output);
    assert!(report.contains("memory after it was freed") && report.contains("dies_at_end.c:11:"), "{report}");
    assert!(!report.contains("missing"), "{report}");
}

#[test]
fn children_past_libc_have_logs_of_their_own() {
    for name in ["cloned.c", "told_fork.c"] {
        let directory = tempfile::tempdir().expect("writable");
        let program = direct(name, &directory);
        let output = Command::new(&program).output().expect("it starts");
        assert_eq!((said(&output).as_str(), output.status.code()), ("", Some(0)));
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        assert!(said(&output).starts_with("overtake: no race: "), "{}", said(&output));
        assert_eq!(output.status.code(), Some(0));
    }
}

#[test]
fn a_program_is_told_when_the_runtime_starts_and_ends() {
    let directory = tempfile::tempdir().expect("writable");
    let program = direct("told_when.c", &directory);
    for mut command in [Command::new(&program), overtake()] {
        if command.get_program() != program.as_os_str() {
            command.args(["run", "--allow-empty", "--"]).arg(&program);
        }
        let output = command.output().expect("it starts");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!((told.as_str(), output.status.code()), ("started\nconstructed\nruns\nends\n", Some(0)));
    }
}

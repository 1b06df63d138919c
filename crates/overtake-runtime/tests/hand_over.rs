//! Programs that were started directly hand their logs over at exit.

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use support::Program;

/// A directory with a stand-in for `overtake` that prints how it was called and exits with `code`.
fn stand_in(name: &str, code: i32) -> PathBuf {
    stand_in_that(name, &format!("echo \"called $1\" >&2\necho \"$2\"/* >&2\nexit {code}"))
}

/// A directory with a stand-in for `overtake` that does as `script` says.
fn stand_in_that(name: &str, lines: &str) -> PathBuf {
    let directory =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("hand-over.{name}.{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory can be made");
    let script = directory.join("overtake");
    std::fs::write(&script, format!("#!/bin/sh\n{lines}\n")).expect("writable");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("ours");
    directory
}

fn run(program: &Program, way: &str, path: &Path, overtake: Option<&Path>) -> Output {
    let logs = path.join("logs");
    std::fs::create_dir_all(&logs).expect("a directory can be made");
    let mut command = Command::new(program.path());
    command.arg(way).env_remove("OVERTAKE_LOG").env("TMPDIR", &logs).env("PATH", path);
    if let Some(overtake) = overtake {
        command.env("OVERTAKE_BIN", overtake);
    }
    command.output().expect("the program starts")
}

#[test]
fn races_change_the_exit_code_and_nothing_else_does() {
    let program = Program::new("gcc", "crashes.c");
    let (racy, fine) = (stand_in("racy", 66), stand_in("fine", 3));
    for way in ["exit", "_exit", "quick_exit"] {
        let output = run(&program, way, &racy, None);
        assert_eq!(output.status.code(), Some(66), "{way}: {output:?}");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("called finish") && said.contains("/threads"), "{said}");
        assert!(!output.stdout.is_empty(), "what the program printed is there");
        assert_eq!(run(&program, way, &fine, None).status.code(), Some(9));
    }
    assert_eq!(run(&program, "exit", &fine, Some(&racy.join("overtake"))).status.code(), Some(66));
    for directory in [racy, fine] {
        std::fs::remove_dir_all(directory).expect("ours");
    }
}

#[test]
fn options_say_what_the_exit_code_of_races_is() {
    let program = Program::new("gcc", "callbacks.c");
    let racy = stand_in("options", 66);
    let run = |options: &str| {
        let mut command = Command::new(program.path());
        command.env_remove("OVERTAKE_LOG").env("TMPDIR", &racy).env("OVERTAKE_BIN", racy.join("overtake"));
        command.env("TSAN_OPTIONS", options).output().expect("the program starts")
    };
    let output = run("");
    assert_eq!(output.status.code(), Some(23), "the program's own default");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "report\nfinalize 1\n");
    assert_eq!(run("verbosity=1:exitcode=7").status.code(), Some(7));
    assert_eq!(run("exitcode=0").status.code(), Some(0));
    std::fs::remove_dir_all(racy).expect("ours");
}

#[test]
fn a_child_that_ends_without_exit_does_not_write_its_copy_of_the_output() {
    let program = Program::new("gcc", "copies.c");
    let fine = stand_in("copies", 0);
    let output = run(&program, "", &fine, None);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "once\n", "{output:?}");
    std::fs::remove_dir_all(fine).expect("ours");
}

#[test]
fn a_file_that_has_the_number_of_standard_error_gets_no_report() {
    let program = Program::new("gcc", "second.c");
    let racy = stand_in("second", 66);
    let file = racy.join("file");
    let output = run(&program, file.to_str().expect("a path in UTF-8"), &racy, None);
    assert_eq!(output.status.code(), Some(66), "{output:?}");
    assert_eq!(std::fs::read_to_string(&file).expect("the program made it"), "data");
    std::fs::remove_dir_all(racy).expect("ours");
}

/// The stand-in lets a thread of the program make a million atomic operations while it looks at the log.
#[test]
fn threads_that_go_on_add_nothing_to_a_log_that_is_read() {
    let program = Program::new("gcc", "goes_on.c");
    let wait = "while ! [ -e \"$TMPDIR/done\" ]; do :; done";
    let reader = stand_in_that("goes-on", &format!(": > \"$TMPDIR/begun\"\n{wait}\necho \"$2\" >&2"));
    let output = run(&program, "", &reader, None);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let log = Path::new(said.lines().next().expect("the path of the log"));
    let bytes = std::fs::metadata(log.join("threads")).expect("the log is left").len();
    assert!(bytes < 4 << 20, "{bytes} bytes");
    let log = support::read_log(log);
    assert!(log.process.contains_key("closed"), "{:?}", log.process);
    std::fs::remove_dir_all(reader).expect("ours");
}

/// The program runs with the rights of another user than its caller. Only root can make such a file.
#[test]
fn a_setuid_program_does_not_do_what_the_environment_says() {
    let program = Program::new("gcc", "crashes.c");
    let evil = stand_in("evil", 66);
    let path = program.path();
    if std::os::unix::fs::chown(&path, Some(65534), None).is_err() {
        return;
    }
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o4755)).expect("ours");
    let output = run(&program, "exit", &evil, Some(&evil.join("overtake")));
    assert_eq!(output.status.code(), Some(9), "{output:?}");
    let said = String::from_utf8_lossy(&output.stderr);
    let log = said.trim().rsplit(' ').next().expect("a path");
    assert!(!Path::new(log).starts_with(&evil), "{said}");
    for directory in [Path::new(log), &*evil] {
        std::fs::remove_dir_all(directory).expect("ours");
    }
}

#[test]
fn without_overtake_the_program_says_where_its_log_is() {
    let program = Program::new("gcc", "crashes.c");
    let nothing = stand_in("nothing", 0);
    std::fs::remove_file(nothing.join("overtake")).expect("ours");
    let output = run(&program, "exit", &nothing, None);
    assert_eq!(output.status.code(), Some(9));
    let said = String::from_utf8_lossy(&output.stderr);
    let log = said.trim().rsplit(' ').next().expect("a path");
    assert_eq!(support::read_log(Path::new(log)).process["ended"], "exit");
    std::fs::remove_dir_all(nothing).expect("ours");
}

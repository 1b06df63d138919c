//! Programs that forbid themselves system calls, or give up rights: they keep running and stay recorded.

mod support;

use overtake_rawlog::RecordKind;
use support::Program;

#[test]
fn threads_are_joined_without_giving_way() {
    let program = Program::new("gcc", "sandbox.c");
    let run = program.run_with(&[&libc::SYS_sched_yield.to_string()], &[]).succeeded();
    assert_eq!(run.printed("count"), 200);
    let joins = run.log().in_order().into_iter().filter(|(_, record)| record.kind == RecordKind::Join);
    assert_eq!(joins.count(), 200);
}

/// Runs the program in a sandbox. Everything must be recorded nevertheless, without a message.
fn stays_recorded(program: &Program, ways: &[&str]) {
    let run = program.run_with(ways, &[]).succeeded();
    assert_eq!(run.printed("count"), 200, "{ways:?}");
    assert_eq!(String::from_utf8_lossy(&run.output.stderr), "", "{ways:?}");
    let log = run.log();
    assert_eq!(log.threads.len(), 201, "{ways:?}");
    assert!(log.threads.values().all(|thread| thread.header.lost_bytes == 0), "{ways:?}");
    let counter = run.printed("counter");
    let counted = |thread: &support::Thread| thread.count(RecordKind::Write, counter) == 1;
    assert_eq!(log.threads.values().filter(|thread| counted(thread)).count(), 200, "{ways:?}");
    assert_eq!(log.process.get("ended").map(|how| &**how), Some("exit"), "{ways:?}");
}

#[test]
fn programs_that_close_descriptors_they_do_not_know_stay_recorded() {
    for compiler in support::compilers() {
        let program = Program::new(compiler, "sandbox.c");
        for way in ["close", "closefrom", "close_range", "syscall", "dup2"] {
            stays_recorded(&program, &[way]);
        }
    }
}

/// Only root can give these up.
#[test]
fn programs_that_give_up_their_rights_stay_recorded() {
    let program = Program::new("gcc", "sandbox.c");
    if program.run_with(&["root"], &[]).output.status.code() == Some(6) {
        return;
    }
    for ways in [&["rights"][..], &["root"], &["root", "rights"], &["rights", "closefrom"]] {
        stays_recorded(&program, ways);
    }
}

/// Others cannot guess the name of the directory, and nobody else may enter it.
#[test]
fn log_directories_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let program = Program::new("gcc", "sandbox.c");
    let root = program.path().with_file_name("logs");
    std::fs::create_dir(&root).expect("a directory can be made");
    let mut random = std::collections::BTreeSet::new();
    for _ in 0..2 {
        let mut command = std::process::Command::new(program.path());
        assert!(command.env("OVERTAKE_LOG", &root).status().expect("the program starts").success());
    }
    for entry in std::fs::read_dir(&root).expect("a directory") {
        let entry = entry.expect("readable");
        let mode = entry.metadata().expect("readable").permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let name = entry.file_name().into_string().expect("our own name");
        let parts: Vec<String> = name.split('.').map(str::to_owned).collect();
        assert_eq!((parts.len(), &*parts[0]), (4, "overtake"), "{name}");
        random.insert(parts[1].clone());
    }
    assert_eq!(random.len(), 2);
}

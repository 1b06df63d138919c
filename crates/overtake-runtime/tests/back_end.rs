//! The back end is chosen when the process starts.

mod support;

use support::{Program, compilers};

#[test]
fn the_silent_back_end_runs_programs_and_leaves_no_log() {
    for compiler in compilers() {
        for source in ["synchronise.c", "forks.c", "signals.c", "memory.c"] {
            let program = Program::new(compiler, source);
            let run = program.run_with(&[], &[("OVERTAKE_BACK_END", "silent")]).succeeded();
            assert!(run.logs.is_empty(), "{source} left a log");
            assert!(run.output.stderr.is_empty(), "{source}: {:?}", run.output);
            let recorded = program.run().succeeded();
            assert!(!recorded.logs.is_empty(), "{source} is recorded without a choice");
        }
    }
}

#[test]
fn unknown_back_ends_are_named_and_the_run_is_recorded() {
    let run = Program::new("gcc", "across.c").run_with(&[], &[("OVERTAKE_BACK_END", "loud")]).succeeded();
    assert_eq!(run.logs.len(), 1);
    let said = String::from_utf8_lossy(&run.output.stderr);
    assert_eq!(said.trim(), "overtake: there is no back end `loud`, the run is recorded");
}

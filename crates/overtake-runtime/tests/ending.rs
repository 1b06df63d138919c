//! Threads that end: nothing that they do is lost.

mod support;

use std::path::Path;
use std::process::Command;

use overtake_rawlog::RecordKind;
use support::{Program, Run, each_compiler};

#[test]
fn destructors_are_recorded_as_often_as_they_run() {
    const THREADS: u64 = 200;
    const WRITES: u64 = 3 * 4;
    each_compiler("keys.c", |run: Run| {
        let log = run.log();
        assert_eq!(log.process["lost"], "0");
        let first = run.printed("destroyed");
        for thread in 0..THREADS {
            let written = (0..WRITES).map(|write| first + 4 * (WRITES * thread + write));
            let recorded = |address: u64| {
                log.threads.values().map(|thread| thread.count(RecordKind::Write, address)).sum::<usize>()
            };
            assert!(written.map(recorded).all(|count| count > 0), "thread {thread}");
        }
    });
}

/// Slots of ended threads are used again: a thread takes only the room of its records.
#[test]
fn threads_in_sequence_take_the_room_of_their_records() {
    const THREADS: u64 = 50_000;
    const BYTES_OF_A_THREAD: u64 = 512;
    let run = support::Program::new("gcc", "sequence.c").run().succeeded();
    assert_eq!(run.printed("counted"), THREADS);
    let log = run.log();
    assert_eq!(log.threads.len() as u64, THREADS + 1);
    assert!(log.file_bytes < THREADS * BYTES_OF_A_THREAD, "{}", log.file_bytes);
}

/// System calls of a program that starts so many threads, so many at a time, apart from those by which threads wait for each other.
fn calls(counter: &Program, program: &Path, threads: u64, at_once: u64) -> u64 {
    let mut command = Command::new(counter.path());
    command.arg("count").arg(program).args([threads, at_once].map(|number| number.to_string()));
    counter.run_command(command).succeeded().printed("calls")
}

/// What an ended thread had is used again. Before, a thread took 20 calls more than without us.
#[test]
fn a_thread_takes_few_system_calls_more_than_without_us() {
    const THREADS: u64 = 1000;
    const MORE: u64 = 10;
    let [plain, recorded] = [Program::plain("gcc", "calls.c"), Program::new("gcc", "calls.c")];
    for at_once in [1, 100] {
        let [without, with] = [&plain, &recorded].map(|program| {
            let of = |threads| calls(&plain, &program.path(), threads, at_once);
            of(THREADS) - of(0)
        });
        assert!(with <= without + MORE * THREADS, "{at_once} at once: {with}, without us {without}");
    }
}

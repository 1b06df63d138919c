//! Threads that end: nothing that they do is lost.

mod support;

use overtake_rawlog::RecordKind;
use support::{Run, each_compiler};

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

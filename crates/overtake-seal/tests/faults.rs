//! Faults in logs: misuse of locks, objects and descriptors that are used while they are created or destroyed, double frees.

mod support;

use overtake_rawlog::{RecordKind as K, block_size, misuse, release_extra};
use support::LogMaker;

const HEAP: u64 = 0x5000;
const LOCK: u64 = 0x9000;

/// The faults of a log, in order.
fn faults(log: &LogMaker) -> Vec<String> {
    let mut lines = log.sealed().lines();
    lines.retain(|line| line.contains("|misuse("));
    lines
}

#[test]
fn a_lock_that_nobody_holds_is_given_back_once_in_a_report() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Release, LOCK).sync(0, K::Release, LOCK);
    assert_eq!(faults(&log), ["T0|misuse(unlock-of-unlocked,0x9000)"]);
}

#[test]
fn a_child_process_may_give_back_what_it_never_took() {
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::ThreadStart, 1, 0, 0).sync(0, K::Release, LOCK);
    assert!(faults(&log).is_empty());
    log.sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK).sync(0, K::Release, LOCK);
    assert_eq!(faults(&log), ["T0|misuse(unlock-of-unlocked,0x9000)"]);
}

#[test]
fn a_lock_that_another_thread_holds_is_given_back() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::Acquire, LOCK).sync(1, K::Release, LOCK);
    assert_eq!(faults(&log), ["T1|misuse(unlock-by-other,0x9000)"]);
}

#[test]
fn a_lock_that_another_thread_holds_is_taken_unless_its_owner_died() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::Acquire, LOCK).sync(1, K::Acquire, LOCK);
    assert_eq!(faults(&log), ["T1|misuse(double-lock,0x9000)"]);
    let mut log = LogMaker::new(2);
    log.sync(0, K::Acquire, LOCK).sync_with(1, K::Acquire, 2, LOCK, 0);
    assert!(faults(&log).is_empty());
}

#[test]
fn a_lock_that_a_thread_holds_may_be_taken_again() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::Acquire, LOCK).sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK).sync(
        0,
        K::Release,
        LOCK,
    );
    assert!(faults(&log).is_empty());
}

#[test]
fn modes_of_locks_are_not_mixed_up() {
    let (shared, exclusive) = (release_extra(true), release_extra(false));
    for (taken, given_back, fault) in [
        (K::Acquire, shared, Some("read-unlock-of-write-locked")),
        (K::AcquireShared, exclusive, Some("write-unlock-of-read-locked")),
        (K::Acquire, exclusive, None),
        (K::AcquireShared, shared, None),
        (K::Acquire, 0, None),
        (K::AcquireShared, 0, None),
    ] {
        let mut log = LogMaker::new(1);
        log.sync(0, taken, LOCK).sync_with(0, K::ReleaseAny, given_back, LOCK, 0);
        let expected: Vec<_> = fault.map(|fault| format!("T0|misuse({fault},0x9000)")).into_iter().collect();
        assert_eq!(faults(&log), expected);
    }
    let mut log = LogMaker::new(2);
    log.sync(0, K::Acquire, LOCK).sync(1, K::AcquireShared, LOCK);
    assert_eq!(faults(&log), ["T1|misuse(read-lock-of-write-locked,0x9000)"]);
}

#[test]
fn a_lock_is_destroyed_while_it_is_held_and_used_after_it_was() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::Forget, LOCK).sync(0, K::Acquire, LOCK).sync(0, K::Destroy, LOCK);
    assert_eq!(faults(&log), ["T0|misuse(destroy-of-locked,0x9000)"]);
    let mut log = LogMaker::new(1);
    log.sync(0, K::Forget, LOCK).sync(0, K::Destroy, LOCK).sync(0, K::Acquire, LOCK);
    assert_eq!(faults(&log), ["T0|misuse(use-of-destroyed,0x9000)"]);
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::Misuse, misuse::INVALID_LOCK, LOCK, 0);
    assert_eq!(faults(&log), ["T0|misuse(use-of-destroyed,0x9000)"]);
}

#[test]
fn threads_that_ended_and_that_nobody_joined_or_detached_are_leaks() {
    let mut log = LogMaker::new(4);
    log.sync(0, K::ThreadStart, 0);
    for child in 1..4 {
        log.sync(0, K::Fork, child as u64).sync(child, K::ThreadStart, child as u64);
        log.sync(child, K::ThreadEnd, 0).end(child);
    }
    log.sync(0, K::Join, 1).sync(0, K::Detach, 2);
    assert!(faults(&log).is_empty(), "the program did not end");
    assert_eq!(faults(log.exits()), ["T0|misuse(thread-leak,T3)"]);
}

#[test]
fn signal_handlers_have_their_faults_where_they_are_recorded() {
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::Misuse, misuse::ERRNO, 1, 0).sync_with(0, K::Misuse, misuse::UNSAFE_CALL, 0, 0);
    assert_eq!(faults(&log), ["T0|misuse(errno-in-signal)", "T0|misuse(signal-unsafe-call)"]);
}

#[test]
fn locks_are_named_where_none_may_be_held() {
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::Misuse, misuse::MUST_HOLD_NONE, 0, 0).sync(0, K::Acquire, LOCK);
    log.sync_with(0, K::Misuse, misuse::MUST_HOLD_NONE, 0, 0);
    assert_eq!(faults(&log), ["T0|misuse(lock-held,0x9000)"]);
}

#[test]
fn making_and_destroying_an_object_writes_it_and_using_it_reads_it() {
    for (make, take, number) in [
        (K::Forget, K::Acquire, 0),
        (K::Forget, K::CondSignal, 0),
        (K::Forget, K::CondWait, 0),
        (K::BarrierInit, K::BarrierArrive, 2),
        (K::SemaphoreInit, K::SemaphorePost, 0),
    ] {
        let mut log = LogMaker::new(2);
        log.sync_with(0, make, 0, LOCK, number).sync(1, take, LOCK).sync(0, K::Destroy, LOCK);
        let lines = log.sealed().lines();
        let about: Vec<_> = lines.iter().filter(|line| line.contains("memory[36864]")).collect();
        let expected = ["T0|w(memory[36864])", "T1|load.relaxed(memory[36864])", "T0|w(memory[36864])"];
        assert_eq!(about, expected.iter().collect::<Vec<_>>(), "{take:?}");
    }
}

#[test]
fn a_lock_that_lives_for_ever_is_not_read() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK);
    assert_eq!(log.sealed().lines(), ["T0|acq(0x9000)", "T0|rel(0x9000)"]);
}

#[test]
fn a_lock_in_a_block_is_read_before_the_block_is_freed() {
    let mut log = LogMaker::new(2);
    log.sync_with(0, K::Alloc, 0, HEAP, 64).sync(1, K::Acquire, HEAP + 8).sync(1, K::Release, HEAP + 8);
    log.sync(0, K::Free, HEAP);
    let lines = log.sealed().lines();
    assert_eq!(lines[..2], ["T0|alloc(heap#1[64])", "T1|load.relaxed(heap#1[8])"]);
    assert!(lines.last().is_some_and(|line| line.starts_with("T0|free(heap#1")), "{lines:?}");
}

#[test]
fn descriptors_are_written_by_opening_and_closing_and_read_by_use() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::FdForget, 3).sync(1, K::FdPost, 3).sync(1, K::FdUse, 3).sync(0, K::FdClose, 3);
    log.sync(1, K::FdWait, 3); // what is open now was opened unseen
    let mut lines = log.sealed().lines();
    lines.retain(|line| line.contains("descriptor 3[0]") || line.contains("descriptor 3~2[0]"));
    assert_eq!(
        lines,
        [
            "T0|w(file descriptor 3[0])",
            "T1|r(file descriptor 3[0])",
            "T1|r(file descriptor 3[0])",
            "T0|w(file descriptor 3[0])",
            "T1|r(file descriptor 3~2[0])",
        ]
    );
}

#[test]
fn a_block_is_allocated_where_that_happens_whoever_uses_it_first() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1);
    log.sync_with(0, K::Alloc, 0, HEAP, 8).sync(1, K::Fence, 0).write(1, HEAP, 8);
    let lines = log.sealed().lines();
    assert!(lines.contains(&"T0|alloc(heap#1[8])".to_owned()), "{lines:?}");
}

#[test]
fn a_block_that_two_threads_free_is_freed_twice_and_one_that_a_thread_frees_twice_is_a_fault() {
    let mut log = LogMaker::new(2);
    log.sync_with(0, K::Alloc, 0, HEAP, 8).sync(0, K::Free, HEAP).sync(1, K::Free, HEAP);
    let frees = log.sealed().lines().iter().filter(|line| line.contains("|free(")).count();
    assert_eq!(frees, 2);
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::Alloc, 0, HEAP, 8).sync(0, K::Free, HEAP).sync(0, K::Free, HEAP);
    assert_eq!(faults(&log), ["T0|misuse(double-free,heap#1)"]);
}

#[test]
fn frees_that_are_no_accesses_only_end_the_block() {
    let mut log = LogMaker::new(2);
    log.sync_with(0, K::Alloc, 0, HEAP, 8).sync(0, K::Fork, 1).write(1, HEAP, 8);
    log.sync_with(0, K::Free, 1, HEAP, 0).sync_with(0, K::Alloc, 0, HEAP, block_size(8, false));
    log.sync(1, K::Fence, 0);
    let lines = log.sealed().lines();
    assert!(!lines.iter().any(|line| line.contains("free(")), "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.contains("alloc(")).count(), 1, "{lines:?}");
}

#[test]
fn a_use_of_a_freed_block_is_a_fault_said_once() {
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::Alloc, 0, HEAP, 32).write(0, HEAP + 8, 8).sync(0, K::Free, HEAP);
    log.write(0, HEAP + 8, 8).read(0, HEAP + 16, 8);
    let trace = log.sealed();
    let lines = trace.lines();
    assert_eq!(faults(&log), ["T0|misuse(access-after-free,heap#1)"]);
    let freed = &trace.sealed.symbols.program.freed;
    let threads: Vec<_> = freed.iter().map(|freed| freed.thread.0).collect();
    assert_eq!(threads, [0], "who freed it is told once");
    let writes = lines.iter().filter(|line| *line == "T0|w(heap#1[8])").count();
    assert_eq!(writes, 2, "the access is there, too: {lines:?}");
}

#[test]
fn a_block_in_the_place_of_a_freed_one_is_used_without_fault() {
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::Alloc, 0, HEAP, 32).sync(0, K::Free, HEAP);
    log.sync_with(0, K::Alloc, 0, HEAP, 16).write(0, HEAP + 8, 8).sync(0, K::Free, HEAP);
    assert_eq!(faults(&log), [""; 0]);
}

#[test]
fn uses_of_an_object_that_was_made_before_there_were_other_threads_are_left_out() {
    let uses = |forks: &[u64], more: &[(usize, K)]| {
        let mut log = LogMaker::new(3);
        log.sync(0, K::ThreadStart, 0).sync(0, K::Forget, LOCK);
        forks.iter().for_each(|&child| _ = log.sync(0, K::Fork, child));
        for thread in 1..3 {
            log.sync(thread, K::ThreadStart, 0);
            log.sync(thread, K::Acquire, LOCK).sync(thread, K::Release, LOCK);
        }
        more.iter().for_each(|&(thread, kind)| _ = log.sync(thread, kind, LOCK));
        log.sealed().lines().iter().filter(|line| line.contains("load.relaxed(memory[36864])")).count()
    };
    assert_eq!(uses(&[1, 2], &[]), 0);
    assert_eq!(uses(&[1, 2], &[(1, K::Acquire), (1, K::Release)]), 0);
    assert_eq!(uses(&[1, 2], &[(0, K::Destroy)]), 2, "destroying it may race with its uses");
    assert_eq!(uses(&[1, 2], &[(2, K::Forget)]), 2, "making it again may race with its uses");
    assert_eq!(uses(&[1], &[]), 2, "nobody knows that the second thread comes after the making");
}

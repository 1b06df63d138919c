//! Logs with missing records: they are cut at the same point for all threads.

mod support;

use overtake_rawlog::RecordKind as K;
use support::LogMaker;

const LOCK: u64 = 0x9000;

/// Two threads write the same variable under a lock, in turn; `cut` removes records.
fn hand_over(cut: impl Fn(&mut LogMaker)) -> Vec<String> {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1);
    log.sync(1, K::ThreadStart, 1);
    log.sync(0, K::Acquire, LOCK).write(0, 0x100, 4).sync(0, K::Release, LOCK);
    log.sync(1, K::Acquire, LOCK);
    cut(&mut log);
    log.write(1, 0x100, 4).sync(1, K::Release, LOCK);
    log.sync(0, K::Acquire, LOCK).write(0, 0x100, 4).sync(0, K::Release, LOCK);
    log.sealed_with_gaps().lines()
}

#[test]
fn what_other_threads_did_before_the_cut_of_one_is_left_out() {
    let lines = hand_over(|log| log.drop_oldest(1));
    let kept = [
        "T0|gap()",
        "T1|w(memory[256])",
        "T1|gap()", // the release of a lock that was acquired before the cut
        "T0|acq(0x9000)",
        "T0|w(memory[256])",
        "T0|rel(0x9000)",
    ];
    assert_eq!(lines, kept);
}

#[test]
fn what_other_threads_did_after_one_lost_records_is_left_out() {
    let lines = hand_over(|log| log.lose_newest(1));
    let kept = ["T0|fork(T1)", "T0|acq(0x9000)", "T0|w(memory[256])", "T0|rel(0x9000)", "T1|acq(0x9000)"];
    assert_eq!(lines, kept);
}

/// The acquire of one thread may be in the log without the release of the other: that is read first.
#[test]
fn what_threads_do_while_the_log_is_read_is_left_out_and_not_missing() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1);
    log.sync(0, K::Acquire, LOCK).write(0, 0x100, 4).close();
    log.sync(1, K::Acquire, LOCK).write(1, 0x100, 4).sync(1, K::Release, LOCK).write(1, 0x100, 4);
    let sealed = log.sealed_with_gaps();
    assert_eq!(sealed.lines(), ["T0|fork(T1)", "T0|acq(0x9000)", "T0|w(memory[256])"]);
    assert!(sealed.sealed.symbols.program.missing.is_empty());
}

#[test]
fn a_complete_log_has_no_gap() {
    assert!(hand_over(|_| ()).iter().all(|line| !line.contains("gap")));
}

#[test]
fn the_trace_says_what_is_missing() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).write(0, 0x100, 4).sync(0, K::Acquire, LOCK);
    log.drop_oldest(0);
    log.sync(0, K::Release, LOCK).write(0, 0x100, 4);
    let missing = log.sealed_with_gaps().sealed.symbols.program.missing;
    assert!(missing[0].ends_with("bytes of the log were dropped because of the size limit"), "{missing:?}");
}

/// If posts are missing, it is not known which token a wait took, so that it comes after all posts.
#[test]
fn a_semaphore_whose_posts_are_missing_orders_all_posts_before_a_wait() {
    let mut log = LogMaker::new(3);
    for thread in 0..3 {
        log.sync(thread, K::ThreadStart, thread as u64);
    }
    log.sync(0, K::SemaphorePost, LOCK);
    log.drop_oldest(0);
    log.sync(0, K::SemaphorePost, LOCK).sync(1, K::SemaphoreWait, LOCK).sync(2, K::SemaphoreWait, LOCK);
    let lines = log.sealed_with_gaps().lines();
    assert_eq!(lines, ["T0|gap()", "T0|post(0x9000)", "T1|wait(0x9000)", "T2|wait(0x9000)"]);
}

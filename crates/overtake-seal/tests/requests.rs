//! Threads that wait for a lock when the log ends.

mod support;

use overtake_rawlog::{RecordKind as K, head, request};
use support::LogMaker;

const LEFT: u64 = 0x9000;
const RIGHT: u64 = 0x9100;

/// Two threads that hold a lock each and ask for the other's.
fn crossed() -> LogMaker {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1);
    log.sync(0, K::Acquire, LEFT).sync(1, K::Acquire, RIGHT);
    log.sync(0, K::Request, RIGHT).sync(1, K::Request, LEFT);
    log
}

fn requests(log: &LogMaker) -> Vec<String> {
    let mut lines = log.sealed_with_gaps().lines();
    lines.retain(|line| line.contains("|req("));
    lines
}

#[test]
fn what_threads_wait_for_at_the_end_is_in_the_trace() {
    assert_eq!(requests(&crossed()), ["T0|req(0x9100)", "T1|req(0x9000)"]);
}

#[test]
fn a_signal_that_arrives_does_not_end_waiting_and_what_a_thread_does_does() {
    let mut log = crossed();
    // Of a signal, no place in the code is known.
    log.raw(0, &[head(K::Wait, 0, 0x700), 0, 10_000]);
    assert_eq!(requests(&log), ["T0|req(0x9100)", "T1|req(0x9000)"]);
    log.sync(0, K::Post, 0x700);
    assert_eq!(requests(&log), ["T1|req(0x9000)"]);
}

#[test]
fn requests_that_were_granted_or_withdrawn_are_no_events() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Request, LEFT).sync(0, K::Acquire, LEFT);
    assert!(requests(&log).is_empty());
    let mut log = crossed();
    log.sync_with(1, K::Request, request::WITHDRAWN, LEFT, 0);
    assert_eq!(requests(&log), ["T0|req(0x9100)"]);
}

#[test]
fn readers_wait_for_a_writer_alone() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1);
    log.sync(0, K::AcquireShared, LEFT).sync_with(1, K::Request, request::SHARED, LEFT, 0);
    assert!(requests(&log).is_empty());
    log.sync(1, K::Request, LEFT);
    assert_eq!(requests(&log), ["T1|req(0x9000)"]);
}

/// The lock may have been released in the records that are missing.
#[test]
fn nobody_is_said_to_wait_if_records_are_lost() {
    let mut log = crossed();
    log.lose_newest(0);
    assert!(requests(&log).is_empty());
}

//! What records mean, one fact at a time.

mod support;

use overtake_rawlog::{ONE_MORE, RecordKind as K, acquire_extra, atomic_extra, head, run};
use overtake_trace::{Action, ThreadId};
use support::LogMaker;

const HEAP: u64 = 0x5000;
const LOCK: u64 = 0x9000;

#[test]
fn stamps_order_threads_and_accesses_stay_between_their_stamps() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1);
    log.sync(1, K::ThreadStart, 1);
    log.sync(0, K::Acquire, LOCK).write(0, 0x100, 4).sync(0, K::Release, LOCK);
    log.sync(1, K::Acquire, LOCK).write(1, 0x100, 4).sync(1, K::Release, LOCK);
    log.sync(1, K::ThreadEnd, 0).sync(0, K::Join, 1);
    let lines = log.sealed().lines();
    assert_eq!(
        lines,
        [
            "T0|fork(T1)",
            "T0|acq(0x9000)",
            "T0|w(memory[256])",
            "T0|rel(0x9000)",
            "T1|acq(0x9000)",
            "T1|w(memory[256])",
            "T1|rel(0x9000)",
            "T0|join(T1)"
        ]
    );
}

#[test]
fn locks_that_were_tried_are_told_apart() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0);
    log.sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK);
    log.sync_with(0, K::Acquire, acquire_extra(true, false), LOCK, 0).sync(0, K::Release, LOCK);
    assert_eq!(
        log.sealed().lines(),
        ["T0|acq(0x9000)", "T0|rel(0x9000)", "T0|tryacq(0x9000)", "T0|rel(0x9000)"]
    );
}

#[test]
fn parts_of_words_that_nobody_shares_are_apart_and_shared_ones_meet() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0);
    log.write(0, 0x100, 4).read(0, 0x102, 1).write(0, 0x108, 1).write(0, 0x109, 1).write(0, 0x10e, 4);
    assert_eq!(
        log.sealed().lines(),
        [
            "T0|w(memory[256])",
            "T0|w(memory[258])",
            "T0|w(memory[259])", // the int, cut by the byte within
            "T0|r(memory[258])",
            "T0|w(memory[264])",
            "T0|w(memory[265])",
            "T0|w(memory[270])", // across two words
        ]
    );
}

#[test]
fn a_block_that_comes_again_is_another_block() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0);
    for _ in 0..2 {
        log.sync_with(0, K::Alloc, 0, HEAP, 32).write(0, HEAP + 8, 8).sync(0, K::Free, HEAP);
    }
    let lines = log.sealed().lines();
    let names = ["heap#1", "heap#2"];
    for (lines, name) in lines.chunks(3).zip(names) {
        assert_eq!(lines[0], format!("T0|alloc({name}[32])"));
        assert_eq!(lines[1], format!("T0|w({name}[8])"));
        assert!(lines[2].starts_with(&format!("T0|free({name}")), "{}", lines[2]);
    }
}

#[test]
fn what_the_allocator_rounded_up_to_belongs_to_the_block() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).sync_with(0, K::Alloc, 0, HEAP + 32, 24).write(0, HEAP + 32, 8);
    log.sync(0, K::Free, HEAP + 32).sync_with(0, K::Alloc, 8, HEAP, 32).write(0, HEAP + 32, 8);
    let lines = log.sealed().lines();
    assert_eq!(lines[3..], ["T0|alloc(heap#2[32])", "T0|w(heap#2[32])"]);
}

#[test]
fn an_access_behind_a_free_meets_the_block() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).sync_with(0, K::Alloc, 0, HEAP, 32).write(0, HEAP, 8);
    log.sync(0, K::Free, HEAP).write(0, HEAP, 8);
    let lines = log.sealed().lines();
    assert_eq!(lines[3], "T0|misuse(access-after-free,heap#1)");
    assert_eq!(lines[1], lines[4]);
}

#[test]
fn a_stack_that_comes_again_is_another_stack() {
    let mut log = LogMaker::new(3).with_stack(1, 0x7000, 0x8000).with_stack(2, 0x7000, 0x8000);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1).write(1, 0x7100, 8);
    log.sync(1, K::ThreadEnd, 0).sync(0, K::Join, 1).sync(0, K::Fork, 2).sync(2, K::ThreadStart, 2);
    log.write(2, 0x7100, 8);
    let lines = log.sealed().lines();
    assert!(lines.contains(&"T1|w(stack of T1[256])".to_owned()), "{lines:?}");
    assert!(lines.contains(&"T2|w(stack of T2[256])".to_owned()), "{lines:?}");
}

#[test]
fn recursive_and_shared_locks_have_one_section() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::Acquire, LOCK).sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK).sync(
        0,
        K::Release,
        LOCK,
    );
    log.sync(0, K::AcquireShared, LOCK).sync(1, K::AcquireShared, LOCK);
    log.sync(0, K::ReleaseAny, LOCK).sync(1, K::ReleaseAny, LOCK);
    let lines = log.sealed().lines();
    assert_eq!(lines.iter().filter(|line| line.starts_with("T0|")).count(), 4, "{lines:?}");
    assert_eq!(lines.iter().filter(|line| line.starts_with("T1|")).count(), 2, "{lines:?}");
}

#[test]
fn a_lock_that_is_made_anew_is_another_lock() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK).sync(0, K::Forget, LOCK);
    log.sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK);
    assert_eq!(
        log.sealed().order(),
        ["T0|acq(0x9000)", "T0|rel(0x9000)", "T0|acq(0x9000~2)", "T0|rel(0x9000~2)"]
    );
}

#[test]
fn a_lock_given_back_by_another_thread_orders_who_comes_next() {
    let mut log = LogMaker::new(3);
    log.sync(0, K::Acquire, LOCK).sync(1, K::Release, LOCK).sync(2, K::Acquire, LOCK).sync(
        2,
        K::Release,
        LOCK,
    );
    let lines = log.sealed().order();
    let expected = ["T0|acq", "T0|rel", "T1|post", "T2|acq", "T2|wait", "T2|rel"];
    assert_eq!(lines.len(), expected.len(), "{lines:?}");
    assert!(lines.iter().zip(expected).all(|(line, start)| line.starts_with(start)), "{lines:?}");
}

#[test]
fn a_release_that_comes_after_all_does_not_end_the_section_of_another_thread() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::Acquire, LOCK).sync(1, K::Acquire, LOCK);
    log.sync(0, K::Release, LOCK).sync(1, K::Release, LOCK);
    assert_eq!(
        log.sealed().lines(),
        [
            "T0|acq(0x9000)",
            "T1|misuse(double-lock,0x9000)",
            "T0|rel(0x9000)",
            "T1|acq(0x9000)",
            "T1|rel(0x9000)"
        ]
    );
}

#[test]
fn a_lock_whose_owner_ended_is_free_for_the_next() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::Acquire, LOCK).sync(0, K::ThreadEnd, 0).sync(1, K::Acquire, LOCK).sync(
        1,
        K::Release,
        LOCK,
    );
    let lines = log.sealed().lines();
    assert_eq!(lines[..2], ["T0|acq(0x9000)", "T0|rel(0x9000)"]);
}

#[test]
fn a_semaphore_wait_takes_the_oldest_token() {
    let mut log = LogMaker::new(3);
    log.sync_with(0, K::SemaphoreInit, 0, LOCK, 1);
    log.sync(1, K::SemaphorePost, LOCK).sync(2, K::SemaphorePost, LOCK);
    log.sync(0, K::SemaphoreWait, LOCK); // the token it started with: waits for nobody
    log.sync(0, K::SemaphoreWait, LOCK).sync(0, K::SemaphoreWait, LOCK);
    assert_eq!(
        log.sealed().order(),
        ["T1|post(0x9000#1)", "T2|post(0x9000#2)", "T0|wait(0x9000#1)", "T0|wait(0x9000#2)"]
    );
}

#[test]
fn a_named_semaphore_that_is_opened_again_keeps_its_tokens() {
    let mut log = LogMaker::new(2);
    log.sync_with(0, K::SemaphoreOpen, 0, LOCK, 1).sync(0, K::SemaphoreWait, LOCK); // the token it had
    log.sync(1, K::SemaphorePost, LOCK).sync_with(0, K::SemaphoreOpen, 0, LOCK, 1);
    log.sync(0, K::SemaphoreWait, LOCK);
    log.sync(1, K::SemaphorePost, LOCK).sync_with(0, K::SemaphoreOpen, 0, LOCK, 3); // another process posted
    log.sync(0, K::SemaphoreWait, LOCK);
    assert_eq!(log.sealed().lines(), ["T1|post(0x9000#1)", "T0|wait(0x9000#1)", "T1|post(0x9000#2)"]);
}

#[test]
fn a_barrier_orders_rounds() {
    let mut log = LogMaker::new(2);
    log.sync_with(0, K::BarrierInit, 0, LOCK, 2);
    for _ in 0..2 {
        log.sync(0, K::BarrierArrive, LOCK).sync(1, K::BarrierArrive, LOCK);
        log.sync(0, K::BarrierLeave, LOCK).sync(1, K::BarrierLeave, LOCK);
    }
    let lines = log.sealed().order();
    for (round, lines) in lines.chunks(4).enumerate() {
        assert!(lines.iter().all(|line| line.ends_with(&format!("#{})", round + 1))), "{lines:?}");
    }
}

#[test]
fn a_wake_follows_the_latest_signal_and_a_time_out_none() {
    let mut log = LogMaker::new(2);
    log.sync(1, K::CondWait, LOCK);
    log.sync(0, K::CondSignal, LOCK).sync(0, K::CondSignal, LOCK).sync(1, K::CondWake, LOCK);
    log.sync(1, K::CondWait, LOCK).sync_with(1, K::CondWake, 1, LOCK, 0);
    assert_eq!(log.sealed().lines(), ["T0|post(0x9000#1)", "T0|post(0x9000#1)", "T1|wait(0x9000#1)"]);
}

#[test]
fn a_signal_that_nobody_waits_for_orders_nothing() {
    let mut log = LogMaker::new(3);
    log.sync(0, K::CondSignal, LOCK).sync(1, K::CondWait, LOCK).sync(2, K::CondWait, LOCK);
    log.sync(0, K::CondSignal, LOCK).sync(1, K::CondWake, LOCK).sync(0, K::CondSignal, LOCK);
    log.sync(2, K::CondWake, LOCK).sync(0, K::CondSignal, LOCK);
    let expected = ["T0|post(0x9000#1)", "T1|wait(0x9000#1)", "T0|post(0x9000#1)", "T2|wait(0x9000#1)"];
    assert_eq!(log.sealed().lines(), expected);
}

#[test]
fn a_thread_posts_the_same_object_at_each_of_its_signals_and_others_post_others() {
    let mut log = LogMaker::new(3);
    log.sync(2, K::CondWait, LOCK);
    for _ in 0..2 {
        for signaller in 0..2 {
            log.sync(signaller, K::CondSignal, LOCK).sync(2, K::CondWake, LOCK).sync(2, K::CondWait, LOCK);
        }
    }
    let round = ["T0|post(0x9000#1)", "T2|wait(0x9000#1)", "T1|post(0x9000#2)", "T2|wait(0x9000#2)"];
    assert_eq!(log.sealed().lines(), [round, round].concat());
}

#[test]
fn both_ends_of_a_pipe_are_one_object_until_they_are_closed() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::FdForget, 3).sync_with(0, K::FdAlias, 0, 4, 3).sync(0, K::FdPost, 4).sync(1, K::FdWait, 3);
    log.sync(0, K::FdForget, 3).sync(1, K::FdWait, 3);
    let lines = log.sealed().order();
    assert_eq!(lines[0].trim_start_matches("T0|post"), lines[1].trim_start_matches("T1|wait"));
    assert_ne!(lines[1], lines[2]);
}

/// The thread that passes on comes after what was written before; what is written later reaches the reader directly.
#[test]
fn what_is_passed_on_from_one_pipe_comes_out_of_the_other() {
    let mut log = LogMaker::new(3);
    for (read, write) in [(3, 4), (5, 6)] {
        log.sync(0, K::FdForget, read).sync_with(0, K::FdAlias, 0, write, read);
    }
    log.sync(0, K::FdPost, 4);
    log.sync_with(1, K::FdMerge, 0, 3, 6).sync(1, K::FdPost, 6);
    log.sync(0, K::FdPost, 4).sync(2, K::FdWait, 5);
    log.sync_with(1, K::FdMerge, 0, 3, 6);
    let lines = log.sealed().order();
    let object = |line: usize| lines[line].split_once('(').expect("an object").1;
    assert_eq!(lines.len(), 5, "the same is merged once: {lines:?}");
    assert!(lines[0].starts_with("T0|post") && lines[1].starts_with("T1|wait"), "{lines:?}");
    assert_eq!(object(0), object(1));
    assert!(lines[4].starts_with("T2|wait"), "{lines:?}");
    assert_eq!([object(2), object(3)], [object(4); 2]);
    assert_ne!(object(0), object(4));
}

#[test]
fn atomics_keep_their_orders() {
    let mut log = LogMaker::new(1);
    log.sync_with(0, K::AtomicStore, atomic_extra(2, 3), 0x100, 0);
    log.sync_with(0, K::AtomicLoad, atomic_extra(2, 2), 0x100, 0);
    log.sync_with(0, K::AtomicRmw, atomic_extra(3, 0), 0x108, 0);
    log.sync_with(0, K::Fence, 5, 0, 0);
    let lines = log.sealed().lines();
    assert_eq!(lines.len(), 4);
    assert!(lines[0].contains("rel") && lines[1].contains("acq"), "{lines:?}");
}

#[test]
fn ignored_bytes_are_left_out_and_their_neighbours_are_not() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).write(0, 0x100, 4).sync_with(0, K::Benign, 0, 0x100, 4);
    log.write(0, 0x100, 4).write(0, 0x104, 4);
    assert_eq!(log.sealed().lines(), ["T0|w(memory[256])", "T0|w(memory[260])"]);
}

#[test]
fn recursion_is_one_frame() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0);
    log.raw(0, &[head(K::Push, 0, 0x10)]);
    for depth in 1..=200_u8 {
        log.raw(0, &[head(K::Push, depth, 0x20)]);
    }
    log.write(0, 0x100, 4);
    log.raw(0, &[head(K::Cut, 0, 1)]);
    log.write(0, 0x108, 4);
    log.raw(0, &[head(K::Chunk, 0, 0), 0, 1, head(K::Push, 0, 0x10)]);
    log.write(0, 0x110, 4);
    let trace = log.sealed();
    let depths: Vec<_> =
        trace.events.iter().map(|event| trace.sealed.symbols.program.stack(event.location()).len()).collect();
    assert_eq!(depths, [3, 2, 2]);
}

#[test]
fn names_of_threads_are_theirs_from_the_start() {
    let mut log = LogMaker::new(1);
    let word = u64::from_le_bytes(*b"worker\0\0");
    log.sync(0, K::ThreadStart, 0).write(0, 0x100, 4);
    log.raw(0, &[head(K::ThreadName, 0, 0), word, 0, 0]);
    assert_eq!(log.sealed().lines(), ["T0:worker|w(memory[256])"]);
}

#[test]
fn a_thread_whose_log_ends_early_is_over_when_it_is_joined() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1);
    for word in 0..500 {
        log.write(1, 0x100 + 8 * word, 8);
    }
    log.sync(0, K::Join, 1).sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK);
    let lines = log.sealed().lines();
    let join = lines.iter().position(|line| line == "T0|join(T1)").expect("it is there");
    assert!(lines[join..].iter().all(|line| line.starts_with("T0|")), "{join} of {}", lines.len());
}

#[test]
fn accesses_that_share_a_record_are_apart_unless_they_lie_side_by_side() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0);
    log.raw(0, &[head(K::WriteRun, 2, 0x100), 0x2000, run(2) + 2 * ONE_MORE]);
    log.raw(0, &[head(K::ReadRun, 8, 0x118), 0x2001, run(-16) + ONE_MORE]);
    log.raw(0, &[head(K::ReadRun, 1, 0x120), 0x2002, run(3) + ONE_MORE]);
    let expected = [256].map(|at| format!("T0|w(memory[{at}])"));
    let more = [280, 264, 288, 291].map(|at| format!("T0|r(memory[{at}])"));
    let lines = log.sealed().lines();
    assert_eq!(lines, expected.into_iter().chain(more).collect::<Vec<_>>());
}

#[test]
fn bytes_that_are_written_again_keep_the_places_of_their_own_writes() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1);
    for thread in [0, 1] {
        let place = |number: u64| 0x3000 + 0x100 * thread as u64 + number;
        log.raw(thread, &[head(K::Write, 8, 0x100), place(0)]);
        log.raw(thread, &[head(K::Write, 8, 0x108), place(1)]);
        // The recorder has one place for the whole line.
        log.raw(thread, &[head(K::WriteAgain, 16, 0x100), place(1)]);
    }
    let trace = log.sealed();
    for thread in [0, 1] {
        let places: Vec<_> = trace
            .events
            .iter()
            .filter(|event| event.thread() == ThreadId(thread) && matches!(event.action(), Action::Write(_)))
            .map(|event| event.location())
            .collect();
        assert_eq!(places.len(), 4);
        assert_ne!(places[0], places[1]);
        assert_eq!(places[..2], places[2..]);
    }
}

#[test]
fn stamps_in_the_tail_end_the_region_before_it() {
    let mut log = LogMaker::new(2);
    log.sync(0, K::ThreadStart, 0).sync(0, K::Fork, 1).sync(1, K::ThreadStart, 1);
    for word in 0..300 {
        log.write(0, 0x1000 + 8 * word, 8);
    }
    log.start_tail(0);
    for word in 300..400 {
        log.write(0, 0x1000 + 8 * word, 8);
    }
    log.sync(0, K::Acquire, LOCK).sync(0, K::Release, LOCK);
    log.sync(1, K::Acquire, LOCK).sync(1, K::Release, LOCK);
    for _ in 0..100 {
        log.sync(1, K::Acquire, LOCK + 8).sync(1, K::Release, LOCK + 8);
    }
    log.sync(1, K::ThreadEnd, 0).sync(0, K::Join, 1);
    let lines = log.sealed().lines();
    let first = |thread: &str| lines.iter().position(|line| *line == format!("{thread}|acq(0x9000)"));
    assert!(first("T0") < first("T1"), "{:?} {:?}", first("T0"), first("T1"));
}

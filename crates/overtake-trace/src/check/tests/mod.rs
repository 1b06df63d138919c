mod random;

use super::ordinary::Holder;
use super::*;
use crate::event::Op;
use crate::id::{LocationId, MarkerId, SyncId, VarId};

/// A trace under construction: threads, locks and so on are given by number and named `T0`, `L0`, `x0`, ...
struct Script {
    symbols: Symbols,
    events: Vec<Event>,
}

impl Script {
    fn new() -> Script {
        let mut symbols = Symbols::default();
        for number in 0..4 {
            symbols.threads.intern(format!("T{number}").as_bytes()).unwrap();
            symbols.locks.intern(format!("L{number}").as_bytes()).unwrap();
            symbols.variables.intern(format!("x{number}").as_bytes()).unwrap();
            symbols.objects.intern(format!("o{number}").as_bytes()).unwrap();
        }
        for number in 0..2 {
            let array = symbols.variables.intern_array(format!("A{number}").as_bytes()).unwrap();
            symbols.variables.intern_block(array).unwrap();
            symbols.variables.intern_element(array, 0).unwrap();
        }
        Script { symbols, events: Vec::new() }
    }

    fn of(events: &[(u32, Action)]) -> Script {
        let mut script = Script::new();
        script.events = script_events(events);
        script
    }

    /// Checks in one block; the result lists every event with its index.
    fn check(&mut self, checker: &mut Checker) -> Result<Vec<(u64, Event)>> {
        self.check_in_blocks_of(checker, usize::MAX)
    }

    fn check_in_blocks_of(&mut self, checker: &mut Checker, size: usize) -> Result<Vec<(u64, Event)>> {
        let mut out = Vec::new();
        let mut next = 0;
        while next < self.events.len() {
            let end = self.events.len().min(next.saturating_add(size));
            let mut block = Block { first: EventIndex(next as u64), events: self.events[next..end].to_vec() };
            let checked = checker.check(&mut block, &mut self.symbols)?;
            for run in checked.runs() {
                out.extend(run.events.iter().enumerate().map(|(i, &event)| (run.first.0 + i as u64, event)));
            }
            next = end;
        }
        Ok(out)
    }
}

fn script_events(events: &[(u32, Action)]) -> Vec<Event> {
    events.iter().map(|&(thread, action)| event(thread, action)).collect()
}

fn event(thread: u32, action: Action) -> Event {
    Event::new(ThreadId(thread), action, LocationId::UNKNOWN)
}

const L: LockId = LockId(0);
const X: VarId = VarId(0);
const BLOCK: VarId = VarId(4);
const ELEMENT: VarId = VarId(5);

/// Asserts what the repairing checker makes of `events`, and that the strict one refuses at `refused_at`.
fn assert_mends(
    events: &[(u32, Action)],
    expected: &[(u64, u32, Action)],
    made: &[(Repair, u64)],
    refused_at: u64,
) {
    let mut checker = Checker::repairing();
    let out = Script::of(events).check(&mut checker).unwrap();
    let expected: Vec<_> =
        expected.iter().map(|&(index, thread, action)| (index, event(thread, action))).collect();
    assert_eq!(out, expected);
    assert_eq!(checker.repairs().made().collect::<Vec<_>>(), made);
    let error = Script::of(events).check(&mut Checker::strict()).unwrap_err();
    assert_eq!(
        (error.kind(), error.position()),
        (ErrorKind::IllFormed, Position::Event(EventIndex(refused_at)))
    );
}

#[test]
fn well_formed_events_pass_unchanged() {
    use Action::*;
    let events = [
        (0, Fork(ThreadId(1))),
        (0, Acquire(L)),
        (0, Write(X)),
        (1, AcquireShared(LockId(1))),
        (2, AcquireShared(LockId(1))),
        (0, Release(L)),
        (1, Acquire(L)),
        (1, ReleaseShared(LockId(1))),
        (1, Release(L)),
        (0, Join(ThreadId(1))),
        (0, Alloc(BLOCK)),
        (0, Write(ELEMENT)),
        (0, Free(BLOCK)),
    ];
    let expected: Vec<_> =
        events.iter().enumerate().map(|(i, &(thread, action))| (i as u64, event(thread, action))).collect();
    assert_eq!(Script::of(&events).check(&mut Checker::strict()).unwrap(), expected);
    let mut checker = Checker::repairing();
    assert_eq!(Script::of(&events).check(&mut checker).unwrap(), expected);
    assert_eq!(checker.repairs().total(), 0);
}

#[test]
fn reentrant_sections_are_flattened() {
    use Action::*;
    assert_mends(
        &[(0, Acquire(L)), (0, Acquire(L)), (0, Release(L)), (0, Release(L))],
        &[(0, 0, Acquire(L)), (1, 0, Skip), (2, 0, Skip), (3, 0, Release(L))],
        &[(Repair::ReentrantAcquire, 1)],
        1,
    );
}

#[test]
fn shared_inside_exclusive_is_reentrant() {
    use Action::*;
    assert_mends(
        &[(0, Acquire(L)), (0, AcquireShared(L)), (0, ReleaseShared(L)), (0, Release(L))],
        &[(0, 0, Acquire(L)), (1, 0, Skip), (2, 0, Skip), (3, 0, Release(L))],
        &[(Repair::ReentrantAcquire, 1)],
        1,
    );
}

#[test]
fn unheld_release_is_dropped() {
    use Action::*;
    assert_mends(&[(0, Release(L))], &[(0, 0, Skip)], &[(Repair::UnheldRelease, 1)], 0);
    assert_mends(&[(0, ReleaseShared(L))], &[(0, 0, Skip)], &[(Repair::UnheldRelease, 1)], 0);
}

#[test]
fn unheld_release_in_the_middle_of_a_trace_is_kept() {
    let mut checker = Checker::repairing_mid_trace();
    let out = Script::of(&[(0, Action::Release(L))]).check(&mut checker).unwrap();
    assert_eq!(out, [(0, event(0, Action::Release(L)))]);
}

#[test]
fn a_block_freed_in_the_middle_of_a_trace_was_allocated_before() {
    use Action::*;
    let mut checker = Checker::repairing_mid_trace();
    let mut script = Script::of(&[(0, Free(BLOCK)), (1, Free(BLOCK)), (1, Alloc(BLOCK))]);
    let out = script.check(&mut checker).unwrap();
    assert_eq!(out[..2], [(0, event(0, Free(BLOCK))), (1, event(1, Free(BLOCK)))], "two threads that race");
    assert_ne!(out[2].1.operand(), BLOCK.0, "a block that is allocated again is another one");
}

#[test]
fn a_window_knows_nothing_of_the_one_before() {
    use Action::*;
    let first = [(0, Acquire(L)), (0, Alloc(BLOCK)), (0, Fork(ThreadId(1))), (0, Join(ThreadId(1)))];
    let second =
        [(1, Acquire(L)), (1, Alloc(BLOCK)), (0, Fork(ThreadId(1))), (1, Release(L)), (0, Release(L))];
    let mut checker = Checker::repairing_mid_trace();
    Script::of(&first).check(&mut checker).unwrap();
    checker.begin_window();
    let out = Script::of(&second).check(&mut checker).unwrap();
    let expected = second.map(|(thread, action)| event(thread, action));
    assert_eq!(out.iter().map(|&(_, event)| event).collect::<Vec<_>>(), expected);
    assert_eq!(checker.repairs().total(), 1, "only the thread that is forked after it ran");
}

#[test]
fn missing_release_is_inserted_before_the_acquire_and_dropped_when_it_comes() {
    use Action::*;
    assert_mends(
        &[(0, Acquire(L)), (1, Acquire(L)), (0, Release(L)), (1, Release(L))],
        &[(0, 0, Acquire(L)), (1, 0, Release(L)), (1, 1, Acquire(L)), (2, 0, Skip), (3, 1, Release(L))],
        &[(Repair::MissingRelease, 1)],
        1,
    );
}

#[test]
fn exclusive_acquire_ends_shared_sections() {
    use Action::*;
    assert_mends(
        &[(0, AcquireShared(L)), (1, AcquireShared(L)), (2, Acquire(L))],
        &[
            (0, 0, AcquireShared(L)),
            (1, 1, AcquireShared(L)),
            (2, 0, ReleaseShared(L)),
            (2, 1, ReleaseShared(L)),
            (2, 2, Acquire(L)),
        ],
        &[(Repair::MissingRelease, 2)],
        2,
    );
}

#[test]
fn release_by_another_thread_orders_the_next_acquire() {
    use Action::*;
    assert_mends(
        &[(0, Acquire(L)), (1, Release(L)), (2, Acquire(L))],
        &[
            (0, 0, Acquire(L)),
            (1, 0, Release(L)),
            (1, 1, Post(SyncId(4))),
            (2, 2, Wait(SyncId(4))),
            (2, 2, Acquire(L)),
        ],
        &[(Repair::ForeignRelease, 1)],
        1,
    );
}

#[test]
fn release_by_another_thread_orders_every_shared_acquire_up_to_the_next_exclusive_one() {
    use Action::*;
    assert_mends(
        &[
            (0, Acquire(L)),
            (1, Release(L)),
            (2, AcquireShared(L)),
            (0, AcquireShared(L)),
            (2, ReleaseShared(L)),
            (0, ReleaseShared(L)),
            (2, Acquire(L)),
            (2, Release(L)),
            (0, Acquire(L)),
        ],
        &[
            (0, 0, Acquire(L)),
            (1, 0, Release(L)),
            (1, 1, Post(SyncId(4))),
            (2, 2, Wait(SyncId(4))),
            (2, 2, AcquireShared(L)),
            (3, 0, Wait(SyncId(4))),
            (3, 0, AcquireShared(L)),
            (4, 2, ReleaseShared(L)),
            (5, 0, ReleaseShared(L)),
            (6, 2, Wait(SyncId(4))),
            (6, 2, Acquire(L)),
            (7, 2, Release(L)),
            (8, 0, Acquire(L)),
        ],
        &[(Repair::ForeignRelease, 1)],
        1,
    );
}

#[test]
fn release_in_the_wrong_mode_is_corrected() {
    use Action::*;
    assert_mends(
        &[(0, AcquireShared(L)), (0, Release(L))],
        &[(0, 0, AcquireShared(L)), (1, 0, ReleaseShared(L))],
        &[(Repair::ReleaseMode, 1)],
        1,
    );
    assert_mends(
        &[(0, Acquire(L)), (0, ReleaseShared(L))],
        &[(0, 0, Acquire(L)), (1, 0, Release(L))],
        &[(Repair::ReleaseMode, 1)],
        1,
    );
}

#[test]
fn late_and_double_forks_are_kept() {
    use Action::*;
    let fork = Fork(ThreadId(1));
    assert_mends(&[(1, Write(X)), (0, fork)], &[(0, 1, Write(X)), (1, 0, fork)], &[(Repair::LateFork, 1)], 1);
    assert_mends(&[(0, fork), (0, fork)], &[(0, 0, fork), (1, 0, fork)], &[(Repair::LateFork, 1)], 1);
}

#[test]
fn fork_of_a_joined_thread_is_a_new_thread_each_time() {
    use Action::*;
    let (fork, join) = (Fork(ThreadId(1)), Join(ThreadId(1)));
    let events =
        [(0, fork), (1, Write(X)), (0, join), (0, fork), (1, Write(X)), (0, join), (0, fork), (1, Write(X))];
    let expected = [
        (0, 0, fork),
        (1, 1, Write(X)),
        (2, 0, join),
        (3, 0, Fork(ThreadId(4))),
        (4, 4, Write(X)),
        (5, 0, Join(ThreadId(4))),
        (6, 0, Fork(ThreadId(5))),
        (7, 5, Write(X)),
    ];
    assert_mends(&events, &expected, &[(Repair::ReusedThread, 2)], 3);
    let mut script = Script::of(&events);
    script.check(&mut Checker::repairing()).unwrap();
    assert_eq!(script.symbols.threads.name(ThreadId(5)), b"T1#3");
}

#[test]
fn events_after_a_join_stay() {
    use Action::*;
    let events = [(1, Write(X)), (0, Join(ThreadId(1))), (1, Write(X))];
    assert_mends(
        &events,
        &[(0, 1, Write(X)), (1, 0, Join(ThreadId(1))), (2, 1, Write(X))],
        &[(Repair::EventAfterJoin, 1)],
        2,
    );
}

#[test]
fn forking_or_joining_oneself_is_dropped() {
    use Action::*;
    assert_mends(&[(0, Fork(ThreadId(0)))], &[(0, 0, Skip)], &[(Repair::SelfForkOrJoin, 1)], 0);
    assert_mends(&[(0, Join(ThreadId(0)))], &[(0, 0, Skip)], &[(Repair::SelfForkOrJoin, 1)], 0);
}

#[test]
fn a_reused_block_has_new_elements() {
    use Action::*;
    let fresh_block = VarId(8);
    let fresh_element = VarId(9);
    assert_mends(
        &[
            (0, Alloc(BLOCK)),
            (0, Write(ELEMENT)),
            (0, Free(BLOCK)),
            (1, Alloc(BLOCK)),
            (1, Write(ELEMENT)),
            (1, Free(BLOCK)),
        ],
        &[
            (0, 0, Alloc(BLOCK)),
            (1, 0, Write(ELEMENT)),
            (2, 0, Free(BLOCK)),
            (3, 1, Alloc(fresh_block)),
            (4, 1, Write(fresh_element)),
            (5, 1, Free(fresh_block)),
        ],
        &[(Repair::ReusedBlock, 1)],
        3,
    );
}

#[test]
fn freeing_what_is_not_allocated_is_dropped() {
    use Action::*;
    assert_mends(&[(0, Free(BLOCK))], &[(0, 0, Skip)], &[(Repair::UnallocatedFree, 1)], 0);
    assert_mends(
        &[(0, Alloc(BLOCK)), (0, Free(BLOCK)), (0, Free(BLOCK))],
        &[(0, 0, Alloc(BLOCK)), (1, 0, Free(BLOCK)), (2, 0, Skip)],
        &[(Repair::UnallocatedFree, 1)],
        2,
    );
}

#[test]
fn a_block_that_two_threads_free_keeps_both_frees() {
    use Action::*;
    let events = [(0, Fork(ThreadId(1))), (0, Alloc(BLOCK)), (0, Free(BLOCK)), (1, Free(BLOCK))];
    let kept: Vec<_> =
        events.iter().enumerate().map(|(at, &(thread, action))| (at as u64, event(thread, action))).collect();
    for mut checker in [Checker::strict(), Checker::repairing()] {
        assert_eq!(Script::of(&events).check(&mut checker).unwrap(), kept);
        assert_eq!(checker.repairs().total(), 0);
    }
}

#[test]
fn ids_outside_their_tables_are_refused() {
    let wrong = [
        event(9, Action::Skip),
        event(0, Action::Read(VarId(99))),
        event(0, Action::Acquire(LockId(99))),
        event(0, Action::Fork(ThreadId(99))),
        event(0, Action::Post(SyncId(99))),
        event(0, Action::Begin(MarkerId(0))),
        event(0, Action::Alloc(X)),
        Event::new(ThreadId(0), Action::Read(X), LocationId(7)),
    ];
    for event in wrong {
        let mut script = Script::new();
        script.events.push(event);
        let error = script.check(&mut Checker::repairing()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::IllFormed, "{event:?}");
    }
}

#[test]
fn messages_name_lock_and_threads() {
    let error = Script::of(&[(1, Action::Acquire(L)), (2, Action::Release(L))])
        .check(&mut Checker::strict())
        .unwrap_err();
    assert_eq!(error.to_string(), "event 1: lock `L0` released by T2 but held by T1");
}

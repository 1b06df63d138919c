use super::*;
use crate::block::Block;
use crate::check::Checker;
use crate::event::Action;
use crate::id::LocationId;

/// Threads, locks and variables are numbered; all names exist from the start.
fn symbols() -> Symbols {
    let mut symbols = Symbols::default();
    for number in 0..4 {
        symbols.threads.intern(format!("T{number}").as_bytes()).unwrap();
        symbols.locks.intern(format!("L{number}").as_bytes()).unwrap();
        symbols.variables.intern(format!("x{number}").as_bytes()).unwrap();
    }
    symbols.variables.intern(b"A[3]").unwrap();
    let array = symbols.variables.intern_array(b"A").unwrap();
    symbols.variables.intern_block(array).unwrap();
    symbols.locations.intern(b"main.c:1").unwrap();
    symbols
}

fn event(thread: u32, action: Action) -> Event {
    Event::new(ThreadId(thread), action, LocationId(0))
}

fn raw(events: &[Event]) -> TraceSummary {
    let mut statistics = Statistics::new();
    for (at, piece) in events.chunks(3).enumerate() {
        statistics.add_events(EventIndex(3 * at as u64), piece);
    }
    statistics.summary(&symbols())
}

fn checked(events: &[Event]) -> TraceSummary {
    let mut statistics = Statistics::new();
    let mut symbols = symbols();
    let mut block = Block { first: EventIndex(0), events: events.to_vec() };
    statistics.add_checked(&Checker::repairing().check(&mut block, &mut symbols).unwrap());
    statistics.summary(&symbols)
}

const A: LockId = LockId(0);
const B: LockId = LockId(1);

#[test]
fn holdings_of_all_threads_count_together() {
    let events = [
        event(0, Action::Acquire(A)),
        event(1, Action::AcquireShared(B)),
        event(2, Action::AcquireShared(B)),
        event(0, Action::Release(A)),
        event(1, Action::ReleaseShared(B)),
        event(1, Action::Acquire(A)),
    ];
    for summary in [raw(&events), checked(&events)] {
        let expected =
            Parameters { events: 6, threads: 4, locks: 4, variables: 6, acquires: 4, most_held: 3 };
        assert_eq!(summary.parameters, expected);
        assert_eq!(summary.parameters.m(), 4 * 4 + 2 * 3);
        assert_eq!(summary.held_at_end, 2);
        assert_eq!(summary.locks, LockUsage { private: 0, shared: 2, unused: 2 });
    }
}

#[test]
fn re_entrant_acquires_hold_once() {
    let events = [
        event(0, Action::Acquire(A)),
        event(0, Action::Acquire(A)),
        event(0, Action::Release(A)),
        event(0, Action::Write(VarId(0))),
        event(0, Action::Release(A)),
    ];
    for summary in [raw(&events), checked(&events)] {
        assert_eq!((summary.parameters.acquires, summary.parameters.most_held), (1, 1));
        let section = summary.longest_section.unwrap();
        assert_eq!((section.acquire, section.release, section.length), (EventIndex(0), EventIndex(4), 3));
    }
}

#[test]
fn inserted_releases_end_sections_and_are_no_input() {
    let events =
        [event(0, Action::Acquire(A)), event(0, Action::Read(VarId(0))), event(1, Action::Acquire(A))];
    let (raw, checked) = (raw(&events), checked(&events));
    assert_eq!(raw.parameters, checked.parameters);
    assert_eq!((raw.parameters.events, raw.parameters.most_held), (3, 1));
    assert_eq!((raw.inserted, checked.inserted), (0, 1));
    assert_eq!((raw.count(Op::Release), checked.count(Op::Release)), (0, 1));
    assert_eq!(raw.longest_section, checked.longest_section);
    assert_eq!(raw.longest_section.unwrap().length, 1);
}

#[test]
fn the_longest_section_counts_events_of_its_own_thread() {
    let mut events = vec![event(0, Action::Acquire(A)), event(1, Action::Acquire(B))];
    events.extend((0..5).map(|_| event(2, Action::Read(VarId(0)))));
    events.extend((0..2).map(|_| event(1, Action::Read(VarId(0)))));
    events.push(event(1, Action::Release(B)));
    events.push(event(0, Action::Release(A)));
    let expected = CriticalSection {
        lock: B,
        thread: ThreadId(1),
        acquire: EventIndex(1),
        release: EventIndex(9),
        length: 2,
    };
    assert_eq!(raw(&events).longest_section, Some(expected));
    assert_eq!(checked(&events).longest_section, Some(expected));
}

#[test]
fn variables_are_private_read_only_shared_or_unused() {
    let events = [
        event(0, Action::Write(VarId(0))),
        event(0, Action::Read(VarId(0))),
        event(0, Action::Read(VarId(1))),
        event(1, Action::Load(VarId(1), crate::event::MemoryOrder::Acquire)),
        event(0, Action::Read(VarId(2))),
        event(1, Action::Rmw(VarId(2), crate::event::MemoryOrder::Relaxed)),
        event(0, Action::Alloc(VarId(5))),
    ];
    for summary in [raw(&events), checked(&events)] {
        assert_eq!(summary.variables, VariableUsage { private: 1, read_only: 1, shared: 1, unused: 3 });
        assert_eq!((summary.arrays, summary.blocks, summary.locations), (1, 1, 1));
        assert_eq!((summary.count(Op::Read), summary.count(Op::Rmw)), (3, 1));
    }
}

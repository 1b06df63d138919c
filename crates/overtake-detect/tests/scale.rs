//! State follows what the trace contains, not products of its sizes; and time follows its length.

mod common;

use common::run;
use overtake_detect::{Options, find};
use overtake_trace::{Action, Event, LocationId, LockId, SyncId, ThreadId, Trace, VarId};

const NAMES: [&str; 3] = ["hb", "fasttrack", "shb"];

/// A main thread starts `threads` others, each of which takes `locks` locks of its own and writes under each, and joins
/// them all.
fn pool(threads: u32, locks: u32) -> Trace {
    let mut trace = Trace::default();
    for number in 0..=threads {
        trace.symbols.threads.intern(format!("T{number}").as_bytes()).expect("room for names");
    }
    for number in 0..threads * locks {
        trace.symbols.locks.intern(format!("L{number}").as_bytes()).expect("room for names");
    }
    for number in 0..threads {
        trace.symbols.variables.intern(format!("V{number}").as_bytes()).expect("room for names");
    }
    let mut act =
        |thread, action| trace.events.push(Event::new(ThreadId(thread), action, LocationId::UNKNOWN));
    (1..=threads).for_each(|child| act(0, Action::Fork(ThreadId(child))));
    for child in 1..=threads {
        for lock in (child - 1) * locks..child * locks {
            act(child, Action::Acquire(LockId(lock)));
            act(child, Action::Write(VarId(child - 1)));
            act(child, Action::Release(LockId(lock)));
        }
    }
    (1..=threads).for_each(|child| act(0, Action::Join(ThreadId(child))));
    (0..threads).for_each(|var| act(0, Action::Read(VarId(var))));
    trace
}

#[test]
fn ten_thousand_threads_and_a_million_locks_fit() {
    let trace = pool(10_000, 100);
    for name in NAMES {
        let bytes = run(find(name).expect("in the table"), &Options::default(), &trace, |job| {
            assert!(job.findings().is_empty(), "{name}");
            job.peak_state_bytes
        });
        // A table of threads by threads would have 400 MB, one of threads by locks 40 GB.
        assert!(bytes < 60 << 20, "{name}: {bytes} bytes");
    }
}

/// Threads that learn from each other through one lock, over and over: snapshots are freed as fast as they are made.
#[test]
fn state_does_not_grow_with_the_trace() {
    let rounds = |rounds: u32| {
        let mut trace = pool(16, 1);
        for round in 0..rounds {
            let thread = ThreadId(round % 16 + 1);
            for action in [Action::Acquire(LockId(0)), Action::Write(VarId(0)), Action::Release(LockId(0))] {
                trace.events.push(Event::new(thread, action, LocationId::UNKNOWN));
            }
        }
        trace
    };
    let (short, long) = (rounds(1_000), rounds(50_000));
    for name in NAMES {
        let entry = find(name).expect("in the table");
        let bytes = |trace| run(entry, &Options::default(), trace, |job| job.peak_state_bytes);
        assert_eq!(bytes(&short), bytes(&long), "{name}");
    }
}

/// Two threads that write a variable in turn, without a lock: what is out of the window is forgotten.
#[test]
fn racing_accesses_out_of_the_window_are_forgotten() {
    let racing = |rounds: u32| {
        let mut trace = Trace::default();
        for name in ["T0", "T1"] {
            trace.symbols.threads.intern(name.as_bytes()).expect("room for names");
        }
        trace.symbols.variables.intern(b"V0").expect("room for names");
        let mut act =
            |thread, action| trace.events.push(Event::new(ThreadId(thread), action, LocationId::UNKNOWN));
        act(0, Action::Fork(ThreadId(1)));
        (0..rounds).for_each(|round| act(round % 2, Action::Write(VarId(0))));
        trace
    };
    let entry = find("short-osr").expect("in the table");
    let mut options = Options::default();
    options.window = 100;
    let bytes = |rounds| run(entry, &options, &racing(rounds), |job| job.peak_state_bytes);
    let [short, long] = [50_000, 400_000].map(bytes);
    assert!(long < short * 2, "{short} bytes, then {long}");
}

/// Threads that take turns: each reads, under a lock, what some other thread wrote last, and writes something itself. Soon every thread has heard of
/// every other one.
fn gossip(threads: u32, turns: u32) -> Trace {
    let mut trace = Trace::default();
    for number in 0..threads {
        trace.symbols.threads.intern(format!("T{number}").as_bytes()).expect("room for names");
        trace.symbols.variables.intern(format!("V{number}").as_bytes()).expect("room for names");
    }
    for number in 0..8 {
        trace.symbols.locks.intern(format!("L{number}").as_bytes()).expect("room for names");
    }
    let mut number = 1_u32;
    for turn in 0..turns {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (thread, other, lock) = (turn % threads, (number >> 8) % threads, LockId((number >> 4) % 8));
        let turn = [
            Action::Acquire(lock),
            Action::Read(VarId(other)),
            Action::Write(VarId(thread)),
            Action::Release(lock),
        ];
        trace.events.extend(turn.map(|action| Event::new(ThreadId(thread), action, LocationId::UNKNOWN)));
    }
    trace
}

/// What threads learned from each other is kept, not what each one knew at each of its critical sections.
#[test]
fn prediction_keeps_no_clock_for_each_section() {
    let trace = gossip(512, 50_000);
    for name in ["syncp", "short-syncp", "osr", "deadlock"] {
        let bytes =
            run(find(name).expect("in the table"), &Options::default(), &trace, |job| job.peak_state_bytes);
        // A clock for each section would have 100 MB.
        assert!(bytes < 30 << 20, "{name}: {bytes} bytes");
    }
}

/// Each of many threads waits at a barrier for all others, and learns from each of them.
#[test]
fn a_barrier_of_many_threads_costs_no_product_of_their_numbers() {
    let barrier = |threads: u32| {
        let mut trace = gossip(threads, 0);
        trace.symbols.objects.intern(b"barrier").expect("room for names");
        let mut act =
            |thread, action| trace.events.push(Event::new(ThreadId(thread), action, LocationId::UNKNOWN));
        (0..threads).for_each(|thread| act(thread, Action::Post(SyncId(0))));
        (0..threads).for_each(|thread| act(thread, Action::Wait(SyncId(0))));
        for thread in 0..threads {
            act(thread, Action::Acquire(LockId(0)));
            act(thread, Action::Read(VarId(0)));
            act(thread, Action::Write(VarId(0)));
            act(thread, Action::Release(LockId(0)));
        }
        trace
    };
    let mut options = Options::default();
    options.no_filter = true;
    let syncp = find("syncp").expect("in the table");
    let bytes = run(syncp, &options, &barrier(2_000), |job| job.peak_state_bytes);
    // Each thread knows all others in the end: a table of threads by threads, and no more.
    assert!(bytes < 2_000 * 2_000 * 20, "{bytes} bytes");
}

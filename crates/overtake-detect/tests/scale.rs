//! State follows what the trace contains, not products of its sizes; and time follows its length.

mod common;

use common::run;
use overtake_detect::{Options, find};
use overtake_trace::{Action, Event, LocationId, LockId, ThreadId, Trace, VarId};

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

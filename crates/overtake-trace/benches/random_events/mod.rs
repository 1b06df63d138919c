//! A lock-heavy trace with as little structure as possible: threads, locks, variables and locations are drawn at random.

use overtake_trace::{Action, Event, LocationId, LockId, Symbols, ThreadId, Trace, VarId};

const THREADS: u32 = 16;
const LOCKS: u32 = 32;
const VARIABLES: u32 = 20_000;
const LOCATIONS: u32 = 1000;

/// A trace of `count` events; one in three acquires or releases a lock.
pub(crate) fn lock_heavy(count: usize) -> Trace {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut held: Vec<Option<u32>> = vec![None; THREADS as usize];
    let mut free: Vec<u32> = (0..LOCKS).collect();
    let mut events = Vec::with_capacity(count);
    while events.len() < count {
        let thread = random.below(THREADS);
        let held = &mut held[thread as usize];
        let action = match (random.below(3), *held) {
            (0, Some(lock)) => {
                *held = None;
                free.push(lock);
                Action::Release(LockId(lock))
            }
            (0, None) => {
                let lock = free.swap_remove(random.below(free.len() as u32) as usize);
                *held = Some(lock);
                Action::Acquire(LockId(lock))
            }
            (1, _) => Action::Write(VarId(random.below(VARIABLES))),
            _ => Action::Read(VarId(random.below(VARIABLES))),
        };
        events.push(Event::new(ThreadId(thread), action, LocationId(random.below(LOCATIONS))));
    }
    Trace { symbols: names(), events }
}

fn names() -> Symbols {
    let mut symbols = Symbols::default();
    let name = |prefix: &str, number: u32| format!("{prefix}{number}").into_bytes();
    for number in 0..THREADS {
        symbols.threads.intern(&name("T", number)).expect("few names");
    }
    for number in 0..LOCKS {
        symbols.locks.intern(&name("L", number)).expect("few names");
    }
    for number in 0..VARIABLES {
        symbols.variables.intern(&name("V", number)).expect("few names");
    }
    for number in 0..LOCATIONS {
        symbols.locations.intern(&name("src/worker.c:", number)).expect("few names");
    }
    symbols
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((u128::from(self.0) * u128::from(limit)) >> 64) as u32
    }
}

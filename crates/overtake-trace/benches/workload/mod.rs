//! Lock-heavy STD text: 16 threads, 32 locks, 20,000 variables.

use std::fmt::Write;

const THREADS: u64 = 16;
const LOCKS: u64 = 32;
const VARIABLES: u64 = 20_000;
const LOCATIONS: u64 = 5_000;

/// A trace of about `events` events, well formed, the same every time.
pub(crate) fn lock_heavy(events: usize) -> String {
    let mut text = String::with_capacity(events * 20);
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 11) % bound
    };
    let mut written = 0;
    while written < events {
        let (thread, lock, accesses) = (next(THREADS), next(LOCKS), next(5));
        let mut line = |operation: &str, location: u64| {
            writeln!(text, "T{thread}|{operation}|{location}").expect("a string takes everything");
        };
        line(&format!("acq(L{lock})"), lock);
        for _ in 0..accesses {
            let verb = if next(3) == 0 { 'w' } else { 'r' };
            line(&format!("{verb}(V{})", next(VARIABLES)), next(LOCATIONS));
        }
        line(&format!("rel(L{lock})"), lock + LOCKS);
        written += accesses as usize + 2;
    }
    text
}

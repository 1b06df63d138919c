//! Comparing a detector with the oracle on many random traces, and shrinking the traces that fail.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use overtake_trace::{Block, Checker, EventSource, Trace};

use crate::random::{self, Shape};
use crate::text::show;

/// How many random traces a test uses: `usual`, or the number in the environment variable `OVERTAKE_RANDOM_TRACES`.
pub fn random_traces(usual: u64) -> u64 {
    let asked = std::env::var("OVERTAKE_RANDOM_TRACES").ok();
    asked.and_then(|count| count.parse().ok()).unwrap_or(usual)
}

/// The seeds of the random traces that a test uses: all below `count`, or the one in the environment variable
/// `OVERTAKE_RANDOM_SEED`, to repeat a failure.
fn seeds(count: u64) -> Range<u64> {
    let asked = std::env::var("OVERTAKE_RANDOM_SEED").ok().and_then(|seed| seed.parse().ok());
    asked.map_or(0..count, |seed: u64| seed..seed.saturating_add(1))
}

/// Runs `check` on `count` random traces of alternating shapes, on all cores.
///
/// # Panics
/// If a check fails or panics. The message has the seed, the complaint, and a shrunk trace that still fails.
#[track_caller]
pub fn for_each_random_trace(
    shapes: &[Shape],
    count: u64,
    check: impl Fn(&Trace) -> Result<(), String> + Sync,
) {
    assert!(!shapes.is_empty(), "expected a shape");
    let workers = thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let failed = AtomicBool::new(false);
    let seeds = seeds(count);
    let first_failure = |worker: u64| {
        (seeds.start + worker..seeds.end).step_by(workers as usize).find_map(|seed| {
            if failed.load(Ordering::Relaxed) {
                return None;
            }
            let trace = random::trace(&shapes[(seed % shapes.len() as u64) as usize], seed);
            complaint(&check, &trace).map(|_| {
                failed.store(true, Ordering::Relaxed);
                (seed, trace)
            })
        })
    };
    let failures: Vec<_> = thread::scope(|scope| {
        let first_failure = &first_failure;
        let workers: Vec<_> = (0..workers).map(|worker| scope.spawn(move || first_failure(worker))).collect();
        workers.into_iter().filter_map(|worker| worker.join().expect("checks are caught")).collect()
    });
    if let Some((seed, trace)) = failures.into_iter().min_by_key(|&(seed, _)| seed) {
        let shrunk = shrink(&trace, |candidate| complaint(&check, candidate).is_some());
        let complaint = complaint(&check, &shrunk).unwrap_or_default();
        let shape = seed % shapes.len() as u64;
        panic!(
            "seed {seed} of shape {shape}: {complaint}\nshrunk from {} events:\n{}",
            trace.events.len(),
            show(&shrunk)
        );
    }
}

/// The complaint of `check` about `trace`. A panic is a complaint, too.
fn complaint(check: &impl Fn(&Trace) -> Result<(), String>, trace: &Trace) -> Option<String> {
    match catch_unwind(AssertUnwindSafe(|| check(trace))) {
        Ok(Ok(())) => None,
        Ok(Err(complaint)) => Some(complaint),
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("panic");
            Some(format!("panicked: {text}"))
        }
    }
}

/// Fails unless the two have the same elements, and says what is missing and what is too much.
pub fn same<T: Ord + Debug>(
    what: &str,
    expected: impl IntoIterator<Item = T>,
    found: impl IntoIterator<Item = T>,
) -> Result<(), String> {
    let (expected, found): (BTreeSet<T>, BTreeSet<T>) =
        (expected.into_iter().collect(), found.into_iter().collect());
    if expected == found {
        return Ok(());
    }
    let missing: Vec<_> = expected.difference(&found).collect();
    let extra: Vec<_> = found.difference(&expected).collect();
    Err(format!("{what}: missing {missing:?}, too much {extra:?}"))
}

/// Drops events as long as the rest still fails: runs of events first, then single ones, then pairs, such as an
/// acquire with its release. A well-formed trace stays well formed.
pub fn shrink(trace: &Trace, mut still_fails: impl FnMut(&Trace) -> bool) -> Trace {
    let well_formed = is_well_formed(trace);
    let mut accept =
        |candidate: &Trace| (!well_formed || is_well_formed(candidate)) && still_fails(candidate);
    let mut smallest = trace.clone();
    let mut run = trace.events.len().div_ceil(2).max(1);
    loop {
        let before = smallest.events.len();
        drop_runs(&mut smallest, run, &mut accept);
        let stuck = smallest.events.len() == before;
        if run > 1 {
            run = run.div_ceil(2);
        } else if stuck && !drop_pair(&mut smallest, &mut accept) {
            return smallest;
        }
    }
}

/// Drops every run of `length` events without which the trace still fails.
fn drop_runs(smallest: &mut Trace, length: usize, accept: &mut impl FnMut(&Trace) -> bool) {
    let mut start = 0;
    while start < smallest.events.len() {
        let end = smallest.events.len().min(start + length);
        let candidate = without(smallest, |at| (start..end).contains(&at));
        if accept(&candidate) {
            *smallest = candidate;
        } else {
            start += length;
        }
    }
}

/// Drops the first pair of events without which the trace still fails. False if there is none.
fn drop_pair(smallest: &mut Trace, accept: &mut impl FnMut(&Trace) -> bool) -> bool {
    let count = smallest.events.len();
    for (first, second) in (0..count).flat_map(|first| (first + 1..count).map(move |second| (first, second)))
    {
        let candidate = without(smallest, |at| at == first || at == second);
        if accept(&candidate) {
            *smallest = candidate;
            return true;
        }
    }
    false
}

fn without(trace: &Trace, dropped: impl Fn(usize) -> bool) -> Trace {
    let kept = trace.events.iter().enumerate().filter(|&(at, _)| !dropped(at));
    Trace { symbols: trace.symbols.clone(), events: kept.map(|(_, &event)| event).collect() }
}

/// Whether the strict checker accepts the trace.
pub fn is_well_formed(trace: &Trace) -> bool {
    let mut source = trace.source();
    let mut checker = Checker::strict();
    let mut block = Block::default();
    while source.next_block(&mut block).unwrap_or(false) {
        if checker.check(&mut block, source.symbols_mut()).is_err() {
            return false;
        }
    }
    true
}

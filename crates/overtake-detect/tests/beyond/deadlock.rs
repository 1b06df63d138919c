//! `deadlock` and `lock-order`.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};

use overtake_detect::witness::{self, DeadlockSchedule};
use overtake_detect::{Deadlock, Verdict};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Deadlock as Cycle, History, for_each_random_trace, lock_order_cycles, predictable_deadlocks,
    random_traces, same, sync_preserving_deadlocks, sync_preserving_deadlocks_by_enumeration,
    threads_that_wait_for_ever, trace,
};
use overtake_trace::{Action, Event, EventIndex, LockId, ThreadId, Trace};

use crate::find;

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(30);
    let free = Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() };
    shapes.extend([
        Shape::nested_locks(),
        free.clone().with_events(40),
        Shape { threads: 4, locks: 4, ..free }.with_events(50),
        Shape { shared_locks: true, ..Shape::nested_locks() },
        Shape { nested_locks: true, locks: 3, ..Shape::everything() },
        Shape { nested_locks: true, ..Shape::ill_formed() },
        Shape { tries: true, ..Shape::nested_locks() },
        Shape { tries: true, shared_locks: true, fork_join: true, ..Shape::nested_locks() },
    ]);
    shapes
}

/// What was found; each event has a location of its own, so that each deadlock is a group.
fn all_deadlocks(name: &str, trace: &Trace) -> Vec<Deadlock> {
    find(name, trace, |findings| findings.deadlocks().iter().map(|group| group.example.clone()).collect())
}

/// What was predicted or suspected.
fn deadlocks(name: &str, trace: &Trace) -> Vec<Deadlock> {
    let found = all_deadlocks(name, trace).into_iter();
    found.filter(|deadlock| deadlock.verdict != Verdict::Observed).collect()
}

/// In which the run ended.
fn observed(trace: &Trace) -> Vec<Deadlock> {
    let found = all_deadlocks("deadlock", trace).into_iter();
    found.filter(|deadlock| deadlock.verdict == Verdict::Observed).collect()
}

fn cycle(deadlock: &Deadlock) -> Cycle {
    deadlock.steps.iter().map(|step| step.at.index).collect()
}

/// What tells patterns apart: who wants what while holding what, all around.
type Pattern = Vec<(u32, u32, bool, BTreeSet<(u32, bool)>)>;

fn pattern(history: &History, cycle: &Cycle) -> Pattern {
    let entry = |index: &EventIndex| {
        let is_here =
            |&at: &usize| history.steps[at].index == *index && history.steps[at].acquires().is_some();
        let at = (0..history.steps.len()).find(is_here).expect("an acquire");
        let wanted = history.steps[at].acquires().expect("an acquire");
        let held = history.open_sections(at).filter_map(|held| history.steps[held].acquires());
        let held = held.map(|held| (held.lock.0, held.shared)).collect();
        (history.steps[at].thread().0, wanted.lock.0, wanted.shared, held)
    };
    let mut entries: Pattern = cycle.iter().map(entry).collect();
    let start = (0..entries.len()).min_by_key(|&at| entries[at].0).expect("not empty");
    entries.rotate_left(start);
    entries
}

fn agree(name: &str, trace: &Trace, expected: BTreeSet<Cycle>) -> Result<(), String> {
    let found = deadlocks(name, trace);
    for deadlock in &found {
        if !expected.contains(&cycle(deadlock)) {
            return Err(format!("{deadlock:?} is none"));
        }
        let before = deadlock.steps.iter().cycle().skip(deadlock.steps.len() - 1);
        for (step, before) in deadlock.steps.iter().zip(before) {
            if step.held != before.lock || step.held_at.index >= step.at.index {
                return Err(format!("{step:?} does not hold what {before:?} wants"));
            }
        }
    }
    let history = History::new(trace);
    let patterns = |cycles: &mut dyn Iterator<Item = Cycle>| {
        cycles.map(|cycle| pattern(&history, &cycle)).collect::<BTreeSet<_>>()
    };
    same("patterns", patterns(&mut expected.into_iter()), patterns(&mut found.iter().map(cycle)))
}

#[test]
fn deadlock_finds_every_pattern_with_a_sync_preserving_deadlock_and_no_other() {
    for_each_random_trace(&shapes(), random_traces(12_000), |trace| {
        agree("deadlock", trace, sync_preserving_deadlocks(trace))
    });
}

#[test]
fn lock_order_finds_every_pattern_that_forks_joins_and_waits_allow() {
    for_each_random_trace(&shapes(), random_traces(5_000), |trace| {
        agree("lock-order", trace, lock_order_cycles(trace))
    });
}

/// A trace that ends with requests: of each thread, or of all but one, for a lock that depends on `seed`.
fn ending_with_requests(trace: &Trace, seed: usize) -> Trace {
    let mut trace = trace.clone();
    let (threads, locks) = (trace.symbols.threads.len(), trace.symbols.locks.len());
    for thread in (0..threads).filter(|thread| locks > 0 && !(seed + thread).is_multiple_of(7)) {
        let lock = LockId(((seed / 7 + thread * (1 + seed % 3)) % locks) as u32);
        let location = trace.symbols.locations.intern(format!("end {thread}").as_bytes()).expect("few");
        trace.events.push(Event::new(ThreadId(thread as u32), Action::Request(lock), location));
    }
    trace
}

#[test]
fn threads_that_wait_in_a_circle_when_the_trace_ends_are_observed() {
    let free = Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() };
    let shared = Shape { shared_locks: true, ..free.clone() };
    let counts = [const { AtomicU32::new(0) }; 2];
    for (has_shared, shape) in
        [(false, free.clone()), (false, Shape { threads: 4, locks: 4, ..free }), (true, shared)]
    {
        for_each_random_trace(&[shape], random_traces(3_000), |trace| {
            let seed = trace.events.iter().map(|event| event.operand() as usize * 5 + 1).sum();
            let trace = ending_with_requests(trace, seed);
            let expected = threads_that_wait_for_ever(&trace);
            let found = observed(&trace);
            counts[usize::from(!found.is_empty())].fetch_add(1, Ordering::Relaxed);
            let threads: BTreeSet<ThreadId> =
                found.iter().flat_map(|found| &found.steps).map(|step| step.at.thread).collect();
            for deadlock in &found {
                let before = deadlock.steps.iter().cycle().skip(deadlock.steps.len() - 1);
                if deadlock.steps.iter().zip(before).any(|(step, before)| step.held != before.lock) {
                    return Err(format!("{deadlock:?} is no circle"));
                }
            }
            // A thread that waits for several may be in several circles, of which one is reported.
            match has_shared {
                true if threads.is_subset(&expected) => {
                    same("any", [expected.is_empty()], [threads.is_empty()])
                }
                _ => same("threads", expected, threads),
            }
        });
    }
    assert!(
        counts.iter().all(|count| count.load(Ordering::Relaxed) > 100),
        "without and with deadlocks: {counts:?}"
    );
}

#[test]
fn a_request_that_was_granted_waits_for_nobody() {
    let crossed = "T0 acq l; T1 acq m; T0 request m; T1 request l";
    let [deadlock] = &observed(&trace(crossed))[..] else { panic!("expected one") };
    let places: Vec<_> = deadlock.steps.iter().map(|step| (step.held_at.index.0, step.at.index.0)).collect();
    assert_eq!(places, [(0, 2), (1, 3)]);
    assert!(observed(&trace(&format!("{crossed}; T0 w x"))).is_empty(), "the thread goes on");
    assert!(observed(&trace("T0 acq l; T1 acq m; T0 request m; T1 rel m; T1 request l")).is_empty());
    assert!(observed(&trace("T0 request l; T0 acq l; T1 request m; T1 acq m; T0 request m")).is_empty());
    assert!(observed(&trace("T0 acq l; T0 request l")).is_empty(), "the lock may be re-entrant");
}

#[test]
fn a_deadlock_names_what_is_held_and_what_is_wanted() {
    let text =
        "T0 acq l; T0 acq g; T0 acq m; T0 rel m; T0 rel g; T0 rel l; T1 acq m; T1 acq l; T1 rel l; T1 rel m";
    let found = deadlocks("deadlock", &trace(text));
    let [deadlock] = &found[..] else { panic!("expected one, found {found:?}") };
    let places: Vec<_> = deadlock.steps.iter().map(|step| (step.held_at.index.0, step.at.index.0)).collect();
    assert_eq!(places, [(0, 2), (6, 7)]);
}

#[test]
fn a_try_does_not_wait_but_what_it_took_is_held() {
    let text = |first: &str, second: &str| {
        format!("T0 {first} l; T0 {second} m; T0 rel m; T0 rel l; T1 acq m; T1 acq l; T1 rel l; T1 rel m")
    };
    assert_eq!(counts(&text("acq", "acq")), [1, 1]);
    assert_eq!(counts(&text("tryacq", "acq")), [1, 1]);
    assert_eq!(counts(&text("acq", "tryacq")), [0, 0]);
}

/// How many deadlocks and how many cycles in the order of locks a trace has.
fn counts(text: &str) -> [usize; 2] {
    ["deadlock", "lock-order"].map(|name| deadlocks(name, &trace(text)).len())
}

#[test]
fn a_lock_that_is_held_already_is_not_waited_for() {
    let other = "T1 acq l; T1 acq m; T1 rel m; T1 rel l";
    let again = format!("T0 acq l; T0 acq m; T0 acq l; T0 rel l; T0 rel m; T0 rel l; {other}");
    assert_eq!(counts(&again), [0, 0]);
    let deep = format!("T0 acq m; T0 acq m; T0 acq l; T0 rel m; T0 rel l; T0 rel m; {other}");
    assert_eq!(counts(&deep), [1, 1]);
}

#[test]
fn readers_wait_for_writers_only() {
    let text = |wanted: &str| {
        let given = wanted.replace("acq", "rel");
        format!("T0 racq l; T0 acq m; T0 rel m; T0 rrel l; T1 acq m; T1 {wanted} l; T1 {given} l; T1 rel m")
    };
    assert_eq!(counts(&text("acq")), [1, 1]);
    assert_eq!(counts(&text("racq")), [0, 0]);
}

/// A wait on a condition variable gives the lock back and takes it again, here under a lock that was taken in between.
#[test]
fn a_wait_on_a_condition_variable_takes_its_lock_again() {
    let text = "T0 acq m; T0 acq l; T0 rel m; T1 acq m; T1 post c; T1 rel m; T0 acq m; T0 wait c; T0 rel m; T0 rel l;
        T1 acq m; T1 acq l; T1 rel l; T1 rel m";
    let found = deadlocks("deadlock", &trace(text));
    let [deadlock] = &found[..] else { panic!("expected one, found {found:?}") };
    assert_eq!(cycle(deadlock), [EventIndex(6), EventIndex(11)]);
}

/// Every philosopher takes the fork to the left first: one circle of all of them.
#[test]
fn philosophers_can_starve_unless_one_of_them_takes_the_other_fork_first() {
    let table = |seats: usize, polite: bool| {
        let dinner = (0..seats).map(|seat| {
            let (left, right) = (seat, (seat + 1) % seats);
            let (first, second) = if polite && seat + 1 == seats { (right, left) } else { (left, right) };
            format!(
                "P{seat} acq f{first}; P{seat} acq f{second}; P{seat} rel f{second}; P{seat} rel f{first}; "
            )
        });
        dinner.collect::<String>()
    };
    for seats in 2..7 {
        let found = deadlocks("deadlock", &trace(&table(seats, false)));
        assert_eq!(found.iter().map(|deadlock| deadlock.steps.len()).collect::<Vec<_>>(), [seats]);
        assert_eq!(deadlocks("lock-order", &trace(&table(seats, true))), []);
    }
}

/// Sections inside each other, of locks in this order, given back the other way round.
fn nested(thread: usize, locks: &[&str]) -> String {
    let taken = locks.iter().map(|lock| format!("T{thread} acq {lock}; "));
    let given_back = locks.iter().rev().map(|lock| format!("T{thread} rel {lock}; "));
    taken.chain(given_back).collect()
}

/// Every way to choose one of `choices`, `times` times.
fn every_choice(choices: usize, times: u32) -> impl Iterator<Item = Vec<usize>> {
    (0..choices.pow(times))
        .map(move |number| (0..times).map(|place| number / choices.pow(place) % choices).collect())
}

/// The deadlocks of a trace in which each thread runs once are those of all its reorderings.
fn finds_what_enumeration_finds(text: &str, runs_once: bool) -> usize {
    let trace = trace(text);
    let enumerated = sync_preserving_deadlocks_by_enumeration(&trace);
    let check = || {
        if runs_once {
            same("all reorderings", predictable_deadlocks(&trace), enumerated.clone())?;
        }
        agree("deadlock", &trace, enumerated.clone())
    };
    check().unwrap_or_else(|complaint| panic!("{complaint} in {text}"));
    enumerated.len()
}

/// Each philosopher takes the left fork first, or the right one.
#[test]
fn the_deadlocks_of_philosophers_are_those_that_enumeration_finds() {
    let mut found = 0;
    for seats in 2..=5 {
        for first in every_choice(2, seats as u32) {
            let names: Vec<String> = (0..seats).map(|fork| format!("f{fork}")).collect();
            let dinner = (0..seats).map(|seat| {
                let forks = [&*names[seat], &*names[(seat + 1) % seats]];
                nested(seat, &[forks[first[seat]], forks[1 - first[seat]]])
            });
            found += finds_what_enumeration_finds(&dinner.collect::<String>(), true);
        }
    }
    // The whole table to the left or to the right; two philosophers share both forks.
    assert_eq!(found, 2 * 4);
}

/// Money goes from account to account, and both are locked: the first one first.
#[test]
fn the_deadlocks_of_transfers_are_those_that_enumeration_finds() {
    let accounts = ["a", "b", "c"];
    let transfers: Vec<[&str; 2]> = (0..9)
        .map(|number| [accounts[number / 3], accounts[number % 3]])
        .filter(|[from, to]| from != to)
        .collect();
    let mut found = [0, 0];
    for chosen in every_choice(transfers.len(), 3) {
        let one_each = chosen.iter().enumerate().map(|(thread, &one)| nested(thread, &transfers[one]));
        found[0] += finds_what_enumeration_finds(&one_each.collect::<String>(), true);
    }
    for chosen in every_choice(transfers.len(), 4) {
        let two_each = chosen.iter().enumerate().map(|(at, &one)| nested(at % 2, &transfers[one]));
        found[1] += finds_what_enumeration_finds(&two_each.collect::<String>(), false);
    }
    assert!(found.iter().all(|&found| found > 50), "{found:?}");
}

/// Threads take two locks in some order, some of them under a third one.
#[test]
fn the_deadlocks_under_gate_locks_are_those_that_enumeration_finds() {
    let ways: [&[&str]; 6] =
        [&["a", "b"], &["b", "a"], &["g", "a", "b"], &["g", "b", "a"], &["a", "g", "b"], &["b", "g", "a"]];
    let mut found = 0;
    for chosen in every_choice(ways.len(), 2).chain(every_choice(ways.len(), 3)) {
        let threads = chosen.iter().enumerate().map(|(thread, &way)| nested(thread, ways[way]));
        found += finds_what_enumeration_finds(&threads.collect::<String>(), true);
    }
    assert!(found > 50, "{found}");
}

#[test]
fn every_deadlock_has_a_schedule_that_the_checker_accepts() {
    for_each_random_trace(&shapes(), random_traces(4_000), |trace| {
        let deadlocks = deadlocks("deadlock", trace);
        let [mut first, mut second] = [7, 3000].map(|size| trace.source().with_block_events(size));
        let built =
            witness::build_deadlocks(&mut first, &mut second, &deadlocks).expect("memory does not fail");
        let schedules: Option<Vec<DeadlockSchedule>> = built.into_iter().collect();
        let schedules = schedules.ok_or("a deadlock without a schedule")?;
        let mut source = trace.source().with_block_events(5);
        let verdicts = witness::verify_deadlocks(&mut source, &schedules).expect("memory does not fail");
        for (verdict, schedule) in verdicts.into_iter().zip(&schedules) {
            verdict.map_err(|violation| format!("{violation} in {schedule:?}"))?;
        }
        Ok(())
    });
}

#[test]
fn the_checker_refuses_schedules_that_lead_to_no_deadlock() {
    let text = "T0 acq l; T0 acq m; T0 rel m; T0 rel l; T1 acq m; T1 acq l; T1 rel l; T1 rel m";
    let trace = trace(text);
    let deadlocks = deadlocks("deadlock", &trace);
    let built = witness::build_deadlocks(&mut trace.source(), &mut trace.source(), &deadlocks);
    let right = built.expect("memory does not fail").remove(0).expect("a schedule");
    let accepts = |schedule: &DeadlockSchedule| {
        let verdicts = witness::verify_deadlocks(&mut trace.source(), std::slice::from_ref(schedule));
        verdicts.expect("memory does not fail").remove(0).is_ok()
    };
    assert!(accepts(&right));
    let mut too_short = right.clone();
    too_short.steps.pop();
    let mut one_thread = right.clone();
    one_thread.waiting.pop();
    one_thread.deadlock.steps.pop();
    let mut other_way = right.clone();
    other_way.waiting.reverse();
    assert!(![too_short, one_thread, other_way].iter().any(accepts));
}

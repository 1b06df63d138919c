//! `deadlock` and `lock-order`.

use std::collections::BTreeSet;

use overtake_detect::Deadlock;
use overtake_detect::witness::{self, DeadlockSchedule};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Deadlock as Cycle, History, for_each_random_trace, lock_order_cycles, random_traces, same,
    sync_preserving_deadlocks, trace,
};
use overtake_trace::{EventIndex, Trace};

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
    ]);
    shapes
}

/// What was found; each event has a location of its own, so that each deadlock is a group.
fn deadlocks(name: &str, trace: &Trace) -> Vec<Deadlock> {
    find(name, trace, |findings| findings.deadlocks().iter().map(|group| group.example.clone()).collect())
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

#[test]
fn a_deadlock_names_what_is_held_and_what_is_wanted() {
    let text =
        "T0 acq l; T0 acq g; T0 acq m; T0 rel m; T0 rel g; T0 rel l; T1 acq m; T1 acq l; T1 rel l; T1 rel m";
    let found = deadlocks("deadlock", &trace(text));
    let [deadlock] = &found[..] else { panic!("expected one, found {found:?}") };
    let places: Vec<_> = deadlock.steps.iter().map(|step| (step.held_at.index.0, step.at.index.0)).collect();
    assert_eq!(places, [(0, 2), (6, 7)]);
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

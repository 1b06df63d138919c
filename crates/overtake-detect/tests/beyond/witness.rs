//! Races that need critical sections swapped, with their witnesses.

use overtake_detect::Race;
use overtake_detect::witness::{self, LockOrder, Schedule};
use overtake_oracle::random::Shape;
use overtake_oracle::{for_each_random_trace, random_traces, reordering, trace};
use overtake_trace::{EventIndex, Trace};

use crate::find;

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(26);
    shapes.push(Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() });
    shapes.push(Shape::ill_formed().with_events(26));
    shapes
}

fn races(name: &str, trace: &Trace) -> Vec<Race> {
    find(name, trace, |findings| findings.groups().iter().map(|group| group.example).collect())
}

fn build(trace: &Trace, races: &[Race]) -> Vec<Option<Schedule>> {
    let [mut first, mut second] = [7, 3000].map(|size| trace.source().with_block_events(size));
    witness::build_any_order(&mut first, &mut second, races, u64::MAX).expect("memory does not fail")
}

#[test]
fn every_race_of_osr_and_m2_has_a_witness_that_both_checkers_accept() {
    for_each_random_trace(&shapes(), random_traces(4_000), |trace| {
        for name in ["osr", "m2"] {
            let races = races(name, trace);
            let mut left = Vec::new();
            for (race, schedule) in races.iter().zip(build(trace, &races)) {
                match schedule {
                    Some(schedule) => accept(trace, &schedule)?,
                    None => left.push(*race),
                }
            }
            // Those have a witness that keeps the order of locks.
            let [mut first, mut second] = [7, 3000].map(|size| trace.source().with_block_events(size));
            let kept = witness::build(&mut first, &mut second, &left).expect("memory does not fail");
            for schedule in kept {
                accept(trace, &schedule)?;
            }
        }
        Ok(())
    });
}

fn accept(trace: &Trace, schedule: &Schedule) -> Result<(), String> {
    let schedules = std::slice::from_ref(schedule);
    let mut source = trace.source().with_block_events(5);
    let verdicts = witness::verify(&mut source, schedules, LockOrder::Any).expect("memory does not fail");
    for verdict in verdicts {
        verdict.map_err(|violation| format!("verify: {violation} in {schedule:?}"))?;
    }
    let steps: Vec<EventIndex> = schedule.steps.iter().map(|step| step.index).collect();
    reordering::check_race(trace, &steps, schedule.first.index, schedule.second.index)
        .map_err(|violation| format!("oracle: {violation} in {steps:?}"))
}

/// The write of an element and the read of its heap block are one event: it cannot come apart around the free that it saw.
#[test]
fn an_access_and_the_read_of_its_block_stay_together() {
    let text = "T0 alloc B; T1 racq l; T1 free B; T1 w v; T1 w x; T1 rrel l; T0 acq l; T0 w v; T0 rel l; T0 w B[1]; T0 r x";
    let trace = trace(text);
    let found = races("m2", &trace);
    let race = found.iter().find(|race| race.second.at.index == EventIndex(10)).expect("the race on x");
    let schedule = build(&trace, &[*race]).remove(0).expect("a schedule");
    accept(&trace, &schedule).expect("a correct reordering");
}

#[test]
fn a_witness_swaps_sections_of_a_lock() {
    let text = "T1 acq l; T1 r z; T1 rel l; T2 acq l; T2 w y; T3 r y; T3 w z; T2 rel l";
    let trace = trace(text);
    let found = races("osr", &trace);
    let race = found.iter().find(|race| race.second.at.index == EventIndex(6)).expect("the race on z");
    let schedule = build(&trace, &[*race]).remove(0).expect("a schedule");
    accept(&trace, &schedule).expect("a correct reordering");
    let mut source = trace.source();
    let kept = witness::verify(&mut source, &[schedule], LockOrder::Kept).expect("memory does not fail");
    assert!(kept[0].is_err(), "the order of acquires is changed");
}

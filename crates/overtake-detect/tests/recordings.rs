//! Predictions from recordings: traces of which only the order of synchronisation is known.

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};

use common::run;
use overtake_detect::witness::{self, LockOrder, Schedule};
use overtake_detect::{Driver, Options, Outcome, Race, Strictness, Verdict, find};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, handed_over_pairs, happens_before_races, predictable_races, random_traces,
    recorded_order, recorded_races, reordering, same, show, sync_preserving_races, trace,
};
use overtake_trace::{EventIndex, Trace};

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(26);
    shapes.push(Shape { threads: 4, variables: 3, locks: 3, ..Shape::threads_and_locks() }.with_events(40));
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape { locks: 3, ..Shape::shared_locks() }.with_events(34));
    shapes
}

/// The trace as a recording.
fn recording(trace: &Trace) -> Trace {
    let mut recording = trace.clone();
    recording.symbols.program.pid = 1;
    recording
}

/// Another order of the run that `trace` is.
fn reordered(trace: &Trace) -> (Trace, Vec<usize>) {
    let mix = |mix: u64, event: &overtake_trace::Event| {
        mix.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(9) ^ u64::from(event.operand())
    };
    recorded_order(trace, trace.events.iter().fold(trace.events.len() as u64, mix))
}

/// Pairs in the order of the real run.
fn really(pairs: impl IntoIterator<Item = Pair>, order: &[usize]) -> BTreeSet<Pair> {
    let real = |index: EventIndex| EventIndex(order[index.0 as usize] as u64);
    let pair = |Pair { first, second, var }| {
        let (first, second) = (real(first), real(second));
        Pair { first: first.min(second), second: first.max(second), var }
    };
    pairs.into_iter().map(pair).collect()
}

fn found(detector: &str, recording: &Trace) -> Vec<Race> {
    let entry = find(detector).expect("in the table");
    let mut options = Options::default();
    options.window = u64::MAX;
    run(entry, &options, recording, |job| job.findings().groups().iter().map(|group| group.example).collect())
}

fn pair(race: &Race) -> Pair {
    Pair { first: race.first.at.index, second: race.second.at.index, var: race.var }
}

/// The definition: whatever the real order was, what the recording proves can happen.
#[test]
fn what_a_recording_proves_is_a_race_of_the_real_run() {
    for_each_random_trace(&shapes(), 40_000, |real| {
        let (recording, order) = reordered(real);
        same("happens-before", happens_before_races(real), really(happens_before_races(&recording), &order))?;
        let proved = really(recorded_races(&recording), &order);
        match proved.difference(&sync_preserving_races(real)).next() {
            Some(pair) => Err(format!("{pair:?} cannot happen; recorded as\n{}", show(&recording))),
            None => Ok(()),
        }
    });
}

#[test]
fn predictions_are_races_of_the_real_run_and_the_rest_is_possible() {
    for_each_random_trace(&shapes(), 40_000, |real| {
        let (merged, order) = reordered(real);
        for detector in ["syncp", "short-syncp"] {
            let races = found(detector, &recording(&merged));
            let of = |verdicts: &[Verdict]| {
                let races = races.iter().filter(|race| verdicts.contains(&race.verdict));
                races.map(pair).collect::<BTreeSet<_>>()
            };
            let predicted = really(of(&[Verdict::Predicted]), &order);
            if let Some(pair) = predicted.difference(&sync_preserving_races(real)).next() {
                return Err(format!("{detector}: {pair:?} cannot happen"));
            }
            let thread = |index: EventIndex| merged.events[index.0 as usize].thread();
            let partners = |pairs: &BTreeSet<Pair>| {
                pairs.iter().map(|pair| (pair.second, pair.var, thread(pair.first))).collect::<BTreeSet<_>>()
            };
            let narrow = sync_preserving_races(&merged);
            let narrow: BTreeSet<_> = narrow.difference(&handed_over_pairs(&merged)).copied().collect();
            let observed: BTreeSet<_> =
                narrow.intersection(&happens_before_races(&merged)).copied().collect();
            let sure: BTreeSet<_> = recorded_races(&merged).union(&observed).copied().collect();
            let found_sure = of(&[Verdict::Observed, Verdict::Predicted]);
            if let Some(pair) = found_sure.difference(&sure).next() {
                return Err(format!("{detector}: {pair:?} is not sure"));
            }
            same(&format!("{detector}: sure"), partners(&sure), partners(&found_sure))?;
            let possible = of(&[Verdict::Possible]);
            if let Some(pair) = possible.iter().find(|pair| !narrow.contains(pair) || sure.contains(pair)) {
                return Err(format!("{detector}: {pair:?} is not merely possible"));
            }
            let all = partners(&narrow);
            let mut named = partners(&found_sure);
            named.extend(partners(&possible));
            same(&format!("{detector}: all"), all, named)?;
        }
        Ok(())
    });
}

fn schedule(recording: &Trace, race: &Race) -> Schedule {
    let (mut first, mut second) = (recording.source().with_block_events(7), recording.source());
    let races = std::slice::from_ref(race);
    witness::build_recorded(&mut first, &mut second, races).expect("memory does not fail").remove(0)
}

fn verify(recording: &Trace, schedule: &Schedule, order: LockOrder) -> Result<(), String> {
    let schedules = std::slice::from_ref(schedule);
    let verdicts = witness::verify_recorded(&mut recording.source().with_block_events(5), schedules, order);
    verdicts.expect("memory does not fail").remove(0).map_err(|violation| violation.to_string())
}

/// The steps of a schedule, in the order of the real run.
fn real_steps(schedule: &Schedule, order: &[usize]) -> Vec<EventIndex> {
    let mut steps: Vec<_> =
        schedule.steps.iter().map(|step| EventIndex(order[step.index.0 as usize] as u64)).collect();
    steps.sort_unstable();
    steps
}

#[test]
fn schedules_of_predictions_are_reorderings_of_the_real_run() {
    for_each_random_trace(&shapes(), 15_000, |real| {
        let (merged, order) = reordered(real);
        let merged = recording(&merged);
        for race in found("syncp", &merged) {
            match race.verdict {
                Verdict::Predicted => {
                    let schedule = schedule(&merged, &race);
                    verify(&merged, &schedule, LockOrder::Kept)
                        .map_err(|complaint| format!("verify: {complaint}"))?;
                    let [first, second] = [race.first, race.second]
                        .map(|access| EventIndex(order[access.at.index.0 as usize] as u64));
                    let steps = real_steps(&schedule, &order);
                    reordering::check_race(real, &steps, first.min(second), first.max(second))
                        .map_err(|violation| format!("in the real run: {violation}"))?;
                }
                Verdict::Possible => {
                    let schedule = schedule(&merged, &race);
                    if verify(&merged, &schedule, LockOrder::Kept).is_ok() {
                        return Err(format!("{:?} has a schedule", pair(&race)));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    });
}

/// What predictors beyond `syncp` are sure of can happen in the real run, by a schedule that the checker accepts; what they are not sure of names the
/// reads that it hinges on.
#[test]
fn predictions_beyond_syncp_are_races_of_the_real_run() {
    let mut shapes: Vec<Shape> = shapes().into_iter().map(|shape| shape.with_events(14)).collect();
    shapes.push(Shape { threads: 2, locks: 2, ..Shape::core() }.with_events(14));
    let (predicted, possible) = (AtomicU64::new(0), AtomicU64::new(0));
    for_each_random_trace(&shapes, random_traces(12_000), |real| {
        let (merged, order) = reordered(real);
        let merged = recording(&merged);
        let predictable = predictable_races(real);
        for detector in ["osr", "m2", "wcp"] {
            let entry = find(detector).expect("in the table");
            let races: Vec<(Race, usize)> = run(entry, &Options::default(), &merged, |job| {
                let races = job.findings().groups().iter().map(|group| group.surest);
                races.map(|race| (race, job.findings().hinges(&race).len())).collect()
            });
            for (race, hinges) in races {
                match race.verdict {
                    Verdict::Possible if hinges == 0 => {
                        return Err(format!("{detector}: {:?} hinges on nothing", pair(&race)));
                    }
                    Verdict::Possible => possible.fetch_add(1, Ordering::Relaxed),
                    Verdict::Predicted => {
                        if !predictable.is_superset(&really([pair(&race)], &order)) {
                            return Err(format!("{detector}: {:?} cannot happen", pair(&race)));
                        }
                        has_a_schedule(&merged, &race)?;
                        predicted.fetch_add(1, Ordering::Relaxed)
                    }
                    _ => 0,
                };
            }
        }
        Ok(())
    });
    let counts = [predicted, possible].map(AtomicU64::into_inner);
    assert!(counts.iter().all(|&count| count > 100), "hardly anything was predicted: {counts:?}");
}

/// Whether a schedule of either kind passes the checker.
fn has_a_schedule(recording: &Trace, race: &Race) -> Result<(), String> {
    if verify(recording, &schedule(recording, race), LockOrder::Kept).is_ok() {
        return Ok(());
    }
    let (mut first, mut second) = (recording.source(), recording.source());
    let races = std::slice::from_ref(race);
    let built = witness::build_any_order(&mut first, &mut second, races, u64::MAX)
        .expect("memory does not fail")
        .remove(0);
    let built = built.ok_or_else(|| format!("{:?} has no schedule", pair(race)))?;
    verify(recording, &built, LockOrder::Any)
}

/// Schedules with one source for each read are refused where a read has more.
#[test]
fn a_schedule_that_leaves_out_what_a_read_may_have_seen_is_refused() {
    let recording = recording(&trace(FLAG));
    let race = found("syncp", &recording)[1];
    let (mut first, mut second) = (recording.source(), recording.source());
    let narrow = witness::build(&mut first, &mut second, &[race]).expect("memory does not fail").remove(0);
    let complaint = verify(&recording, &narrow, LockOrder::Kept).expect_err("the flag may have been seen");
    assert_eq!(complaint, "step 3: event 0 may have seen event 3, which does not run");
}

/// What `shb` is sure of can happen, too.
#[test]
fn schedulable_races_of_recordings_are_races_of_the_real_run() {
    for_each_random_trace(&shapes(), 20_000, |real| {
        let (merged, order) = reordered(real);
        let races = found("shb", &recording(&merged));
        let sure = races.iter().filter(|race| race.verdict != Verdict::Possible).map(pair);
        if let Some(pair) = really(sure, &order).difference(&sync_preserving_races(real)).next() {
            return Err(format!("{pair:?} cannot happen"));
        }
        let all = found("shb", &merged);
        same("races", all.iter().map(pair), races.iter().map(pair))
    });
}

const FLAG: &str = "T0 r flag; T1 w data; T1 acq m; T1 w flag; T1 rel m; T0 acq m; T0 rel m; T0 r data";

#[test]
fn what_only_a_racy_read_orders_is_possible_and_names_the_read() {
    let recording = recording(&trace(FLAG));
    let races = found("syncp", &recording);
    let verdicts: Vec<_> = races.iter().map(|race| (race.second.at.index.0, race.verdict)).collect();
    assert_eq!(verdicts, [(3, Verdict::Observed), (7, Verdict::Possible)]);
    let entry = find("syncp").expect("in the table");
    let hinges = run(entry, &Options::default(), &recording, |job| job.findings().hinges(&races[1]).to_vec());
    assert_eq!(hinges.iter().map(|hinge| hinge.read.index.0).collect::<Vec<_>>(), [0]);
}

#[test]
fn a_text_trace_says_what_reads_saw() {
    let verdicts: Vec<_> = found("syncp", &trace(FLAG)).iter().map(|race| race.verdict).collect();
    assert_eq!(verdicts, [Verdict::Observed, Verdict::Predicted]);
}

#[test]
fn a_recording_without_racy_reads_predicts_as_a_text_does() {
    let text = "T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    let verdicts: Vec<_> = found("syncp", &recording(&trace(text))).iter().map(|race| race.verdict).collect();
    assert_eq!(verdicts, [Verdict::Predicted]);
}

#[test]
fn an_allocation_before_a_use_is_never_predicted_to_come_after_it() {
    // The pointer was handed over by something that the recording does not show.
    let kept =
        "T0 fork T1; T0 alloc b; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w b[0]; T1 free b; T0 join T1";
    let swapped =
        "T0 fork T1; T0 acq l; T0 alloc b; T0 rel l; T1 acq l; T1 rel l; T1 w b[0]; T1 free b; T0 join T1";
    for text in [kept, swapped] {
        let run = recording(&trace(text));
        for detector in ["syncp", "short-syncp", "osr", "short-osr", "m2"] {
            assert_eq!(found(detector, &run), [], "{detector} on {text}");
        }
        assert!(found("wcp", &run).iter().all(|race| race.verdict == Verdict::Suspected), "{text}");
    }
    assert!(!found("osr", &trace(swapped)).is_empty(), "a text says all");
}

/// What a detector finds that stops at its first race, if it reads blocks of so many events.
fn found_first(detector: &str, recording: &Trace, block: usize) -> Vec<(Race, usize)> {
    let mut options = Options::default();
    options.first = true;
    let entry = find(detector).expect("in the table");
    let mut driver = Driver::start(&[entry], &options, Strictness::Repair).expect("good options");
    let mut pass = || driver.pass(&mut recording.source().with_block_events(block), &mut |_| ());
    while pass().expect("memory does not fail") == Outcome::AnotherPass {}
    let findings = driver.jobs()[0].findings();
    let races = findings.groups().iter().map(|group| group.surest);
    races.map(|race| (race, findings.hinges(&race).len())).collect()
}

/// Who stops at the first race has read less, and is no less careful with what it has.
#[test]
fn the_first_race_is_found_if_there_is_one_and_is_no_surer_than_the_recording() {
    let shapes: Vec<Shape> = shapes().into_iter().map(|shape| shape.with_events(14)).collect();
    let possible = AtomicU64::new(0);
    for_each_random_trace(&shapes, random_traces(12_000), |real| {
        let (merged, order) = reordered(real);
        let merged = recording(&merged);
        let predictable = predictable_races(real);
        let detectors = ["shb", "syncp", "osr", "m2", "wcp"];
        // In a short block the first race is an observed one; what hinges on it comes in the same block or not at all.
        for (detector, block) in detectors.into_iter().flat_map(|detector| [(detector, 2), (detector, 64)]) {
            let races = found_first(detector, &merged, block);
            same(detector, [found(detector, &merged).is_empty()], [races.is_empty()])?;
            for (race, hinges) in races {
                let is_real = predictable.is_superset(&really([pair(&race)], &order));
                match race.verdict {
                    Verdict::Predicted if !is_real => {
                        return Err(format!("{detector}: {:?} cannot happen", pair(&race)));
                    }
                    Verdict::Predicted => has_a_schedule(&merged, &race).map(|()| 0)?,
                    Verdict::Possible if hinges == 0 => {
                        return Err(format!("{detector}: {:?} hinges on nothing", pair(&race)));
                    }
                    Verdict::Possible => possible.fetch_add(1, Ordering::Relaxed),
                    _ => 0,
                };
            }
        }
        Ok(())
    });
    assert!(possible.into_inner() > 0, "no race was merely possible");
}

//! The sync-preserving detectors of the table against the definition, and the witnesses of their races.

use std::collections::BTreeSet;

use overtake_detect::witness::{self, LockOrder, Row, Schedule, Step};
use overtake_detect::{Analysis, Entry, Options, Outcome, Race, Verdict, find};
use overtake_gen::gadgets::{Notion, Size, find_gadget};
use overtake_gen::{Parameters, Workload, find_shape};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, reordering, same, second_events,
    sync_preserving_ideal, sync_preserving_races, trace, within,
};
use overtake_trace::{Action, Block, Checker, EventIndex, EventSource, Trace, VarId, Variable};

const TRACES: u64 = 120_000;

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(28);
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape { locks: 3, ..Shape::shared_locks() }.with_events(40));
    shapes.push(Shape::ill_formed().with_events(26));
    shapes
}

fn options(window: u64, no_filter: bool) -> Options {
    let mut options = Options::default();
    (options.window, options.no_filter) = (window, no_filter);
    options
}

/// Runs a detector on `trace`, mended where it needs to be, and returns it when it is done.
fn run(entry: &Entry, options: &Options, trace: &Trace) -> Analysis {
    let mut analysis = entry.analysis(options).expect("options that fit");
    loop {
        let mut source = trace.source().with_block_events(7); // so that small traces have block borders
        let mut checker = Checker::repairing();
        let mut block = Block::default();
        while source.next_block(&mut block).expect("memory does not fail") {
            analysis.feed(&checker.check(&mut block, source.symbols_mut()).expect("ids in range"));
        }
        if analysis.end_of_trace(source.symbols()) == Outcome::Done {
            return analysis;
        }
    }
}

fn syncp(trace: &Trace, no_filter: bool) -> Analysis {
    run(find("syncp").expect("in the table"), &options(0, no_filter), trace)
}

fn short_syncp(trace: &Trace, window: u64) -> Analysis {
    run(find("short-syncp").expect("in the table"), &options(window, false), trace)
}

fn races(analysis: &Analysis) -> Vec<Race> {
    analysis.findings().groups().iter().map(|group| group.example).collect()
}

fn pair(race: &Race) -> Pair {
    Pair { first: race.first.at.index, second: race.second.at.index, var: race.var }
}

/// Every reported pair, for a trace whose events all have locations of their own: then each pair of accesses is a group.
fn reported_pairs(analysis: &Analysis) -> BTreeSet<Pair> {
    races(analysis).iter().map(pair).collect()
}

#[test]
fn syncp_reports_exactly_the_sync_preserving_races() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let expected = sync_preserving_races(trace);
        let observed = happens_before_races(trace);
        for no_filter in [false, true] {
            let analysis = syncp(trace, no_filter);
            same("racy events", second_events(&expected), analysis.findings().racy_events())?;
            for race in races(&analysis) {
                let pair = pair(&race);
                if !expected.contains(&pair) {
                    return Err(format!("{pair:?} is no race"));
                }
                if (race.verdict == Verdict::Observed) != observed.contains(&pair) {
                    return Err(format!("{pair:?} is not {:?}", race.verdict));
                }
            }
        }
        Ok(())
    });
}

/// Each thread that an event races with is named, with and without the filter.
#[test]
fn syncp_names_one_partner_of_each_thread() {
    for_each_random_trace(&shapes(), 20_000, |trace| {
        let expected = sync_preserving_races(trace);
        let partner = |pair: &Pair| (pair.second, pair.var, trace.events[pair.first.0 as usize].thread().0);
        let expected: Vec<_> =
            expected.iter().map(partner).map(|(second, var, thread)| (second, var.0, thread)).collect();
        for no_filter in [false, true] {
            let found = reported_pairs(&syncp(trace, no_filter));
            let found: Vec<_> =
                found.iter().map(partner).map(|(second, var, thread)| (second, var.0, thread)).collect();
            same("second event, variable and first thread", expected.iter().copied(), found.iter().copied())?;
        }
        Ok(())
    });
}

#[test]
fn a_window_of_the_whole_trace_changes_nothing() {
    for_each_random_trace(&shapes(), 20_000, |trace| {
        let analysis = short_syncp(trace, trace.events.len().max(2) as u64);
        same("races", reported_pairs(&syncp(trace, false)), reported_pairs(&analysis))
    });
}

#[test]
fn short_syncp_reports_exactly_the_races_in_the_window() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let expected = sync_preserving_races(trace);
        let seed = trace.events.iter().map(|event| u64::from(event.operand())).sum::<u64>();
        let window = 2 + seed % trace.events.len().max(1) as u64;
        let expected = within(&expected, window);
        let analysis = short_syncp(trace, window);
        let what = format!("window {window}");
        same(&what, second_events(&expected), analysis.findings().racy_events())?;
        match reported_pairs(&analysis).difference(&expected).next() {
            Some(pair) => Err(format!("{what}: {pair:?} is no race")),
            None => Ok(()),
        }
    });
}

fn build(trace: &Trace, race: &Race) -> Schedule {
    let [mut first, mut second] =
        [trace.source().with_block_events(7), trace.source().with_block_events(3000)];
    let mut schedules =
        witness::build(&mut first, &mut second, std::slice::from_ref(race)).expect("memory does not fail");
    schedules.remove(0)
}

fn verify(trace: &Trace, schedule: &Schedule) -> Result<(), String> {
    let schedules = std::slice::from_ref(schedule);
    let verdicts = witness::verify(&mut trace.source().with_block_events(4), schedules, LockOrder::Kept);
    let verdict = verdicts.expect("memory does not fail").remove(0);
    verdict.map_err(|violation| violation.to_string())
}

fn indices(steps: &[Step]) -> Vec<EventIndex> {
    steps.iter().map(|step| step.index).collect()
}

/// The oracle's checker of reorderings, which shares no code with ours.
fn oracle_verifies(trace: &Trace, schedule: &Schedule) -> Result<(), String> {
    let steps = indices(&schedule.steps);
    reordering::check_race(trace, &steps, schedule.first.index, schedule.second.index)
        .map_err(|violation| violation.to_string())?;
    let preserving = reordering::is_sync_preserving(trace, &steps);
    if preserving { Ok(()) } else { Err("not sync-preserving".into()) }
}

#[test]
fn every_race_has_a_witness_that_both_checkers_accept() {
    for_each_random_trace(&shapes(), 30_000, |trace| {
        for race in races(&syncp(trace, false)) {
            let schedule = build(trace, &race);
            verify(trace, &schedule).map_err(|complaint| format!("verify: {complaint}"))?;
            oracle_verifies(trace, &schedule).map_err(|complaint| format!("oracle: {complaint}"))?;
            let ideal = sync_preserving_ideal(trace, race.first.at.index, race.second.at.index);
            same("witness", ideal, indices(&schedule.steps))?;
        }
        Ok(())
    });
}

/// The block that an event uses, if the trace allocates it before.
fn block_in_use(trace: &Trace, step: &Step) -> Option<VarId> {
    let block = match step.event.action() {
        Action::Free(block) => block,
        Action::Read(var) | Action::Write(var) => match trace.symbols.variables.get(var) {
            Variable::Element { array, .. } => trace.symbols.variables.array_facts(array).block?,
            _ => return None,
        },
        _ => return None,
    };
    let earlier = &trace.events[..step.index.0 as usize];
    earlier.iter().any(|event| event.action() == Action::Alloc(block)).then_some(block)
}

/// Whether the first access of a race touches an element of a block that the trace allocates only afterwards.
fn comes_before_its_block(trace: &Trace, race: &Race) -> bool {
    let index = race.first.at.index;
    let event = trace.events[index.0 as usize];
    !matches!(event.action(), Action::Alloc(_)) && block_in_use(trace, &Step { index, event }).is_none()
}

#[test]
fn no_schedule_uses_or_frees_a_block_that_is_not_allocated() {
    let shapes = [Shape::heap().with_events(24), Shape { blocks: 3, ..Shape::heap() }.with_events(32)];
    for_each_random_trace(&shapes, 30_000, |trace| {
        for race in races(&syncp(trace, false)) {
            let mut allocated = BTreeSet::new();
            let has_block_later =
                |step: &Step| step.index == race.second.at.index && comes_before_its_block(trace, &race);
            for step in build(trace, &race).events() {
                if let Action::Alloc(block) = step.event.action() {
                    allocated.insert(block.0);
                }
                let block = block_in_use(trace, &step).filter(|_| !has_block_later(&step));
                if block.is_some_and(|block| !allocated.contains(&block.0)) {
                    return Err(format!("event {} of the schedule of {race:?} uses no block", step.index));
                }
            }
        }
        Ok(())
    });
}

/// Adding the allocation to what precedes the two takes the first access: the lock is held until the first access is over.
#[test]
fn an_access_that_cannot_have_its_block_is_no_race() {
    let text = "T0 acq l; T0 alloc A; T1 w A[0]; T1 w x; T0 r x; T0 rel l; T2 acq l; T2 rel l; T2 w A[0]";
    let racy = races(&syncp(&trace(text), false));
    let pairs: Vec<_> = racy.iter().map(|race| (race.first.at.index.0, race.second.at.index.0)).collect();
    assert!(!pairs.contains(&(2, 8)), "{pairs:?}");
    assert!(pairs.contains(&(1, 2)), "the allocation races with the access: {pairs:?}");
}

/// A schedule changed in one place, `change` choosing which.
fn mutated(schedule: &Schedule, change: usize) -> Schedule {
    let mut mutated = schedule.clone();
    let steps = &mut mutated.steps;
    let at = change / 5 % steps.len().max(1);
    match change % 5 {
        0 if !steps.is_empty() => drop(steps.remove(at)),
        1 if at + 1 < steps.len() => steps.swap(at, at + 1),
        2 if !steps.is_empty() => steps.truncate(at),
        3 if !steps.is_empty() => steps.insert(0, steps[at]),
        _ => steps.push(schedule.first),
    }
    mutated
}

#[test]
fn both_checkers_agree_on_schedules_that_were_tampered_with() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let (accepted, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    for_each_random_trace(&Shape::all_well_formed(28), 10_000, |trace| {
        for race in races(&syncp(trace, false)).iter().take(3) {
            let schedule = build(trace, race);
            for change in 0..5 * schedule.steps.len().clamp(1, 12) {
                let mutated = mutated(&schedule, change);
                let (ours, theirs) = (verify(trace, &mutated), oracle_verifies(trace, &mutated));
                if ours.is_ok() != theirs.is_ok() {
                    return Err(format!("verify says {ours:?}, the oracle {theirs:?} of {mutated:?}"));
                }
                let count = if ours.is_ok() { &accepted } else { &refused };
                count.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    });
    let (accepted, refused) = (accepted.into_inner(), refused.into_inner());
    assert!(refused > 50_000 && accepted > 1_000, "{refused} refused, {accepted} accepted");
}

/// The builder given a pair that is no race makes a schedule that does not verify.
#[test]
fn a_pair_that_is_no_race_has_no_witness() {
    let trace = trace("T0 acq l; T0 w x; T0 rel l; T1 w x; T1 acq l; T1 w x");
    let mut race = races(&syncp(&trace, false))[0];
    assert_eq!((race.first.at.index, race.second.at.index), (EventIndex(1), EventIndex(3)));
    assert_eq!(verify(&trace, &build(&trace, &race)), Ok(()));
    race.second.at.index = EventIndex(5);
    assert!(verify(&trace, &build(&trace, &race)).is_err());
}

#[test]
fn a_witness_says_what_it_overtakes() {
    let text = "T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    let trace = trace(text);
    let race = races(&syncp(&trace, false))[0];
    assert_eq!(race.verdict, Verdict::Predicted);
    let schedule = build(&trace, &race);
    assert_eq!(indices(&schedule.steps), [3, 4].map(EventIndex));
    assert_eq!(indices(&schedule.events().collect::<Vec<_>>()), [3, 4, 0, 5].map(EventIndex));
    let [overtaken] = schedule.overtaken[..] else { panic!("expected one, found {:?}", schedule.overtaken) };
    assert_eq!((overtaken.left_out.index, overtaken.by.index), (EventIndex(1), EventIndex(3)));
    assert_eq!(overtaken.left_out_end.map(|step| step.index), Some(EventIndex(2)));
}

#[test]
fn many_witnesses_are_built_as_one_by_one() {
    for_each_random_trace(&shapes(), 5_000, |trace| {
        let races = races(&syncp(trace, false));
        let [mut first, mut second, mut replayed] =
            [5, 7, 9].map(|size| trace.source().with_block_events(size));
        let together = witness::build(&mut first, &mut second, &races).expect("memory does not fail");
        let apart: Vec<_> = races.iter().map(|race| build(trace, race)).collect();
        if together != apart {
            return Err(format!("expected the schedules {apart:?}, found {together:?}"));
        }
        let verdicts =
            witness::verify(&mut replayed, &together, LockOrder::Kept).expect("memory does not fail");
        verdicts.into_iter().collect::<Result<(), _>>().map_err(|violation| violation.to_string())
    });
}

#[test]
fn shortened_witnesses_lose_no_count() {
    for_each_random_trace(&shapes(), 5_000, |trace| {
        for race in races(&syncp(trace, false)).iter().take(2) {
            let schedule = build(trace, race);
            let rows = witness::shorten(&schedule, 2);
            let events = rows.iter().map(|row| match row {
                Row::Step { .. } => 1,
                Row::Omitted(counts) => counts.iter().map(|&(_, count)| count).sum(),
            });
            same("events", [schedule.steps.len() as u64 + 2], [events.sum::<u64>()])?;
        }
        Ok(())
    });
}

/// Traces on which published algorithms or well-known tools err, with the second events that the definition gives.
const COUNTEREXAMPLES: [(&str, &[u64]); 7] = [
    // Removing the last acquire that was looked up forgets the section of T0.
    ("T0 acq l; T0 w x; T1 w x; T0 rel l; T1 acq l; T1 w x", &[2]),
    // One list of accesses consumed by T1 for all second threads loses the race of T2.
    ("T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 r x; T1 rel l; T2 r x", &[6]),
    // Re-entrant locks must be flattened.
    ("A acq l; A w z; B r z; A acq l; A rel l; A rel l; C acq l; C rel l; C w q; B w q", &[2, 9]),
    // A variable seen later starts with another one's cursors but not with its closure.
    (
        "v acq l; v w p; t r p; s acq m; s w g; v r g; v rel l; u w x; t acq l; t rel l; v acq l; t w x; u w y; s r y; \
         s rel m; t acq m; t w y",
        &[2, 5, 11, 13],
    ),
    ("T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x", &[]),
    ("T1 acq m; T1 w x; T1 rel m; T0 acq l; T0 w y; T2 r y; T0 acq m; T2 r x; T0 rel l", &[5, 7]),
    ("T0 w x; T1 r x; T0 w x", &[1, 2]),
];

#[test]
fn syncp_is_right_where_published_algorithms_err() {
    for (text, expected) in COUNTEREXAMPLES {
        let expected: Vec<_> = expected.iter().map(|&index| EventIndex(index)).collect();
        for no_filter in [false, true] {
            assert_eq!(syncp(&trace(text), no_filter).findings().racy_events(), expected, "{text}");
        }
    }
}

/// The constructions behind the lower bounds, whose races are the answer to the problem that they encode.
#[test]
fn gadgets_have_exactly_the_races_of_their_problem() {
    for (name, sizes) in [("gadget-g4", 2..7), ("gadget-g5", 1..9), ("gadget-g5-printed", 1..7)] {
        let kind = find_gadget(name).expect("in the table");
        for (vectors, seed) in sizes.flat_map(|vectors| (0..6).map(move |seed| (vectors, seed))) {
            let gadget = kind.build(&Size { vectors, dimension: 3, seed }).expect("a small gadget");
            let expected = gadget.expected.iter().find(|expected| expected.notion == Notion::SyncPreserving);
            let expected: Vec<_> = expected.expect("known").second_events().into_iter().collect();
            let window = gadget.trace.events.len() as u64;
            for analysis in [syncp(&gadget.trace, false), short_syncp(&gadget.trace, window)] {
                assert_eq!(analysis.findings().racy_events(), expected, "{name} of {vectors}, seed {seed}");
            }
        }
    }
}

/// Larger than what the definition can judge: collections happen, and every verdict has a witness or agrees between two
/// ways to compute it.
#[test]
fn larger_traces_agree_with_and_without_forgetting() {
    for (name, threads, seed) in
        [("lock-heavy", 8, 1), ("lock-dominated", 16, 2), ("mixed", 6, 3), ("many-threads", 300, 4)]
    {
        let shape = find_shape(name).expect("in the table");
        let parameters = Parameters { events: 150_000, threads, raciness: 0.01, seed, ..shape.defaults };
        let mut workload = Workload::new(shape, parameters).expect("parameters that fit");
        let trace = Trace::read(&mut workload).expect("generating does not fail");
        let (filtered, whole) = (syncp(&trace, false), syncp(&trace, true));
        assert!(!whole.findings().is_empty(), "{name}");
        assert!(filtered.findings().racy_events() == whole.findings().racy_events(), "{name}");
        let differs =
            filtered.findings().groups().iter().zip(whole.findings().groups()).find(|(a, b)| a != b);
        assert_eq!(differs, None, "{name}");
        let short = short_syncp(&trace, 5_000);
        assert!(short.findings().max_distance() < 5_000, "{name}");
        for race in races(&filtered).iter().step_by(40).chain(races(&short).iter().step_by(40)) {
            assert_eq!(verify(&trace, &build(&trace, race)), Ok(()), "{name}: {race:?}");
        }
    }
}

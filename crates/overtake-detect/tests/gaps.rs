//! Traces of which events are missing: what detectors find in the rest is in the whole trace as well.

mod common;

use std::collections::BTreeSet;
use std::ops::Range;

use common::run;
use overtake_detect::{Options, find};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, happens_before_races, schedulable_races, second_events,
    sync_preserving_races, trace,
};
use overtake_trace::{
    Action, Block, Checker, Event, EventIndex, EventSource, LocationId, Repair, Trace, Variable,
};

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(36);
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape { locks: 3, ..Shape::shared_locks() }.with_events(40));
    shapes
}

/// After a gap, an access to a block that was not allocated counts as one to a block that was allocated within the gap.
fn uses_blocks_before_they_are_there(trace: &Trace) -> bool {
    let mut used = BTreeSet::new();
    trace.events.iter().any(|event| match event.action() {
        Action::Read(var)
        | Action::Write(var)
        | Action::Load(var, _)
        | Action::Store(var, _)
        | Action::Rmw(var, _) => {
            if let Variable::Element { array, .. } = trace.symbols.variables.get(var) {
                used.insert(array);
            }
            false
        }
        Action::Alloc(block) => {
            matches!(trace.symbols.variables.get(block), Variable::Block(array) if used.contains(&array))
        }
        Action::Free(block) => {
            if let Variable::Block(array) = trace.symbols.variables.get(block) {
                used.remove(&array);
            }
            false
        }
        _ => false,
    })
}

/// Whether accesses conflict by a block, whose allocation may be lost.
fn is_of_block(whole: &Trace, pair: &Pair) -> bool {
    let variables = &whole.symbols.variables;
    pair.var.0 as usize >= variables.len() || matches!(variables.get(pair.var), Variable::Block(_))
}

/// A trace without some of its events.
struct Damaged {
    trace: Trace,
    lost: Range<usize>,
}

impl Damaged {
    /// Loses events in a place that depends on the trace only.
    fn of(whole: &Trace) -> Option<Damaged> {
        let length = whole.events.len();
        if length < 3 || uses_blocks_before_they_are_there(whole) {
            return None;
        }
        let mix = whole.events.iter().fold(length as u64, |mix, event| {
            mix.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(7) ^ u64::from(event.operand())
        });
        let start = (mix % length as u64) as usize;
        let end = start + 1 + ((mix >> 32) as usize % 9).min(length - start - 1);
        let mut trace = whole.clone();
        let gap = Event::new(whole.events[start].thread(), Action::Gap, LocationId::UNKNOWN);
        trace.events.splice(start..end, [gap]);
        Some(Damaged { trace, lost: start..end })
    }

    /// The index in the whole trace.
    fn whole(&self, index: EventIndex) -> EventIndex {
        match index.0 as usize {
            at if at < self.lost.start => index,
            at => EventIndex((at - 1 + self.lost.len()) as u64),
        }
    }

    /// The accesses in the whole trace. Variables may have other names: a block can be taken for another one.
    fn pairs(&self, pairs: &BTreeSet<Pair>) -> BTreeSet<[EventIndex; 2]> {
        pairs.iter().map(|pair| [self.whole(pair.first), self.whole(pair.second)]).collect()
    }

    /// Whether a pair lies on one side of what is lost.
    fn has(&self, pair: &Pair) -> bool {
        let [first, second] = [pair.first.0, pair.second.0].map(|index| index as usize);
        second < self.lost.start || first >= self.lost.end
    }

    fn has_barriers_besides_the_gap(&self) -> bool {
        let (mut source, mut checker, mut block) =
            (self.trace.source(), Checker::repairing(), Block::default());
        while source.next_block(&mut block).expect("in memory") {
            checker.check(&mut block, source.symbols_mut()).expect("ids in range");
        }
        checker.repairs().of(Repair::ReleaseAfterGap) > 0
    }
}

fn accesses(pairs: &BTreeSet<Pair>) -> BTreeSet<[EventIndex; 2]> {
    pairs.iter().map(|pair| [pair.first, pair.second]).collect()
}

type Definition = fn(&Trace) -> BTreeSet<Pair>;

/// This compares definitions only. The tests of each notion compare its detectors with the definition, also on traces with gaps.
#[test]
fn what_races_without_the_lost_events_races_with_them() {
    for_each_random_trace(&shapes(), 60_000, |whole| {
        let Some(damaged) = Damaged::of(whole) else { return Ok(()) };
        let notions: [(&str, Definition); 3] = [
            ("happens-before", happens_before_races),
            ("schedulable", schedulable_races),
            ("sync-preserving", sync_preserving_races),
        ];
        for (notion, races) in notions {
            let (real, found) = (accesses(&races(whole)), damaged.pairs(&races(&damaged.trace)));
            if let Some(pair) = found.difference(&real).next() {
                return Err(format!("{pair:?} is no {notion} race; lost {:?}", damaged.lost));
            }
        }
        Ok(())
    });
}

#[test]
fn races_within_intact_parts_are_found() {
    for_each_random_trace(&shapes(), 20_000, |whole| {
        let Some(damaged) = Damaged::of(whole) else { return Ok(()) };
        if damaged.has_barriers_besides_the_gap() {
            return Ok(());
        }
        let found = damaged.pairs(&happens_before_races(&damaged.trace));
        let real = happens_before_races(whole);
        let is_missing = |pair: &&Pair| {
            damaged.has(pair) && !is_of_block(whole, pair) && !found.contains(&[pair.first, pair.second])
        };
        match real.iter().find(is_missing) {
            Some(pair) => Err(format!("{pair:?} is missing; lost {:?}", damaged.lost)),
            None => Ok(()),
        }
    });
}

/// The second events that every detector but those of locking discipline finds, which must be the same.
#[track_caller]
fn seconds(text: &str) -> Vec<u64> {
    let trace = trace(text);
    let expected = second_events(&happens_before_races(&trace));
    for name in ["hb", "fasttrack", "shb", "short-hb", "lockstamp", "slimstate", "syncp", "short-syncp"] {
        let entry = find(name).expect("in the table");
        let found = run(entry, &Options::default(), &trace, |job| job.findings().racy_events());
        assert_eq!(found, expected, "{name}");
    }
    expected.iter().map(|index| index.0).collect()
}

#[test]
fn accesses_on_both_sides_of_a_gap_do_not_race() {
    assert_eq!(seconds("T0 w x; T1 w x"), [1]);
    assert_eq!(seconds("T0 w x; T0 gap; T1 w x"), [] as [u64; 0]);
    assert_eq!(seconds("T0 w x; T1 w x; T0 gap; T0 w x; T1 w x"), [1, 4]);
}

#[test]
fn a_lock_acquired_within_a_gap_protects_up_to_its_release() {
    assert_eq!(seconds("T0 gap; T0 w x; T0 rel l; T1 acq l; T1 w x; T1 rel l"), [] as [u64; 0]);
    assert_eq!(seconds("T0 gap; T0 w x; T1 w x; T0 rel l"), [2]);
}

#[test]
fn a_section_that_a_gap_cuts_excludes_nobody_afterwards() {
    assert_eq!(seconds("T0 acq l; T0 gap; T1 acq l; T1 rel l; T0 w x; T1 w x"), [5]);
}

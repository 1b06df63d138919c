//! Running detectors of the table on traces in memory.

use std::collections::BTreeSet;

use overtake_detect::{Analysis, Entry, Options, Outcome, Race};
use overtake_oracle::Pair;
use overtake_trace::{Block, Checker, Event, EventSource, LocationId, Trace};

/// Runs a detector on `trace`, mended where it needs to be, and returns it when it is done.
pub(crate) fn run(entry: &Entry, options: &Options, trace: &Trace) -> Box<dyn Analysis> {
    let mut analysis = (entry.start)(options).expect("options that fit");
    loop {
        let mut source = trace.source().with_block_events(7); // so that small traces have block borders
        let mut checker = Checker::repairing();
        let mut block = Block::default();
        while source.next_block(&mut block).expect("memory does not fail") {
            analysis.feed(&checker.check(&mut block, source.symbols_mut()).expect("ids in range"));
        }
        if analysis.end_of_trace() == Outcome::Done {
            return analysis;
        }
    }
}

/// The pair that a reported race names.
pub(crate) fn pair(race: &Race) -> Pair {
    Pair { first: race.first.at.index, second: race.second.at.index, var: race.var }
}

/// Every reported pair, for a trace whose events all have locations of their own: then each pair of accesses is a group.
pub(crate) fn reported_pairs(analysis: &dyn Analysis) -> BTreeSet<Pair> {
    analysis.races().groups().iter().map(|group| pair(&group.example)).collect()
}

/// The trace without locations: races are then grouped by variable, and the example of a group is its first race.
pub(crate) fn without_locations(trace: &Trace) -> Trace {
    let forget = |event: &Event| {
        Event::from_parts(event.thread(), event.op(), event.order(), event.operand(), LocationId::UNKNOWN)
    };
    Trace { symbols: trace.symbols.clone(), events: trace.events.iter().map(forget).collect() }
}

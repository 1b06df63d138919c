//! What needs the crate's inside: windows with a collection before every access, which `collect.rs` makes under test.

use std::collections::BTreeSet;

use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, same, second_events, sync_preserving_races, trace, within,
};
use overtake_trace::{Block, Checker, EventIndex, EventSource, Trace};

use crate::registry::{Analysis, Options, Outcome};

fn short_syncp(trace: &Trace, window: u64, no_filter: bool) -> Box<dyn Analysis> {
    let options = Options { window, no_filter, ..Options::default() };
    let mut analysis = super::start_short(&options).expect("a window that fits");
    loop {
        let mut source = trace.source().with_block_events(5);
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

fn figure(analysis: &dyn Analysis, name: &str) -> u64 {
    analysis.figures().into_iter().find(|&(known, _)| known == name).map_or(0, |(_, count)| count)
}

fn agrees(trace: &Trace, expected: &BTreeSet<Pair>, window: u64, no_filter: bool) -> Result<(), String> {
    let expected = within(expected, window);
    let analysis = short_syncp(trace, window, no_filter);
    let what = format!("window {window}, filter {}", !no_filter);
    same(&what, second_events(&expected), analysis.races().racy_events())?;
    let found = analysis.races().groups().iter().map(|group| group.example);
    for race in found {
        let pair = Pair { first: race.first.at.index, second: race.second.at.index, var: race.var };
        if !expected.contains(&pair) {
            return Err(format!("{what}: {pair:?} is no race"));
        }
    }
    Ok(())
}

#[test]
fn forgetting_sections_changes_no_verdict() {
    let mut shapes = Shape::all_well_formed(40);
    shapes.push(Shape { threads: 5, locks: 3, ..Shape::threads_and_locks() }.with_events(60));
    shapes.push(Shape { threads: 5, locks: 2, ..Shape::shared_locks() }.with_events(60));
    shapes.push(Shape { threads: 4, locks: 3, variables: 3, ..Shape::core() }.with_events(60));
    shapes.push(Shape::ill_formed());
    for_each_random_trace(&shapes, 60_000, |trace| {
        let expected = sync_preserving_races(trace);
        let seed = trace.events.iter().map(|event| u64::from(event.operand())).sum::<u64>();
        for window in [2 + seed % 5, 2 + seed % 23] {
            agrees(trace, &expected, window, seed % 2 == 0)?;
        }
        Ok(())
    });
}

#[test]
fn every_window_is_exact() {
    for_each_random_trace(&Shape::all_well_formed(24), 3_000, |trace| {
        let expected = sync_preserving_races(trace);
        (2..=trace.events.len().max(2) as u64)
            .try_for_each(|window| agrees(trace, &expected, window, window % 2 == 0))
    });
}

/// Two threads that pass a lock and a value to and fro need no more sections than the window holds.
#[test]
fn sections_that_cannot_matter_are_forgotten() {
    let round = "A acq l; A w x; A rel l; B acq l; B r x; B w y; B rel l; A r y; ";
    let trace = trace(&round.repeat(200));
    let analysis = short_syncp(&trace, 16, false);
    assert!(figure(&*analysis, "critical sections kept") <= 12, "{:?}", analysis.figures());
    assert_eq!(
        figure(&*analysis, "critical sections kept") + figure(&*analysis, "critical sections collected"),
        400
    );
}

/// The section of A ended inside everything, but its lock's later acquire still ends the section of C for new threads.
#[test]
fn late_threads_see_forgotten_sections() {
    let text = "M fork A; A acq l; A w p; A rel l; A acq l; A rel l; M join A; M w z; M w z; M w z; M w z; M w z; \
                M fork B; M fork C; B r p; B w q; C w q";
    let trace = trace(text);
    for window in 2..18 {
        agrees(&trace, &sync_preserving_races(&trace), window, true).expect("exact");
    }
}

#[test]
fn published_window_policies_err_here() {
    let open = "v acq l; v w p; t r p; s acq m; s w g; v r g; v rel l; u w x; t acq l; t rel l; v acq l; v rel l; \
                t w x; u w y; s r y; s rel m; t acq m; t w y";
    let cases: [(&str, u64, &[u64]); 2] =
        [("T1 acq l; T1 w x; T1 rel l; T2 acq l; T2 w x", 4, &[]), (open, 5, &[2, 5, 14])];
    for (text, window, expected) in cases {
        let found = short_syncp(&trace(text), window, false).races().racy_events();
        assert_eq!(found, expected.iter().map(|&index| EventIndex(index)).collect::<Vec<_>>());
    }
}

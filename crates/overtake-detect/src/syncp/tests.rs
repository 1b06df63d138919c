//! What needs the crate's inside: windows with a collection before every access, which `collect.rs` makes under test.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use overtake_oracle::random::Shape;
use overtake_oracle::{
    Pair, for_each_random_trace, same, second_events, sync_preserving_races, trace, within,
};
use overtake_trace::{EventIndex, Id, Trace, VarId};

use super::filter::{Census, Survey};
use crate::passes::Analysis;
use crate::settings::Options;
use crate::testing::{run_analysis, visit_trace};

fn short_syncp(trace: &Trace, window: u64, no_filter: bool) -> Analysis {
    let options = Options { window, no_filter, ..Options::default() };
    run(super::start_short(&options).expect("a window that fits"), trace)
}

fn run(mut analysis: Analysis, trace: &Trace) -> Analysis {
    run_analysis(&mut analysis, trace);
    analysis
}

fn figure(analysis: &Analysis, name: &str) -> u64 {
    analysis.figures().into_iter().find(|&(known, _)| known == name).map_or(0, |(_, count)| count)
}

fn agrees(trace: &Trace, expected: &BTreeSet<Pair>, window: u64, no_filter: bool) -> Result<(), String> {
    let expected = within(expected, window);
    let analysis = short_syncp(trace, window, no_filter);
    let what = format!("window {window}, filter {}", !no_filter);
    same(&what, second_events(&expected), analysis.findings().racy_events())?;
    let found = analysis.findings().groups().iter().map(|group| group.example);
    for race in found {
        let pair = Pair { first: race.first.at.index, second: race.second.at.index, var: race.var };
        if !expected.contains(&pair) {
            return Err(format!("{what}: {pair:?} is no race"));
        }
    }
    Ok(())
}

#[test]
fn forgetting_changes_no_verdict() {
    let mut shapes = Shape::all_well_formed(40);
    shapes.push(Shape { threads: 5, locks: 3, ..Shape::threads_and_locks() }.with_events(60));
    shapes.push(Shape { threads: 5, locks: 2, ..Shape::shared_locks() }.with_events(60));
    shapes.push(Shape { threads: 4, locks: 3, variables: 3, ..Shape::core() }.with_events(60));
    shapes.push(Shape::ill_formed());
    for_each_random_trace(&shapes, 60_000, |trace| {
        let expected = sync_preserving_races(trace);
        let seed = trace.events.iter().map(|event| u64::from(event.operand())).sum::<u64>();
        agrees(trace, &expected, 2 + seed % 23, seed % 2 == 0)?;
        let analysis = run(super::start_full(&Options::default()).expect("default options"), trace);
        same("syncp", second_events(&expected), analysis.findings().racy_events())
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

/// What the first pass finds out.
fn census(trace: &Trace) -> Census {
    let mut survey = Survey::new(true);
    visit_trace(&mut survey, trace);
    survey.into_census()
}

#[test]
fn only_open_variables_race() {
    let mut shapes = Shape::all_well_formed(40);
    shapes.push(Shape { threads: 3, locks: 1, variables: 2, ..Shape::shared_locks() }.with_events(24));
    shapes.push(Shape { threads: 3, locks: 2, variables: 2, ..Shape::threads_and_locks() }.with_events(30));
    let (settled, left) = (AtomicUsize::new(0), AtomicUsize::new(0));
    for_each_random_trace(&shapes, 60_000, |trace| {
        let census = census(trace);
        let open = census.open_variables().expect("a filter");
        let variables = (0..trace.symbols.variables.len()).map(VarId::from_index);
        let protected = variables.filter(|var| census.matters(*var) && !open.contains(var));
        settled.fetch_add(protected.count(), Relaxed);
        left.fetch_add(open.len(), Relaxed);
        let races = sync_preserving_races(trace);
        match races.iter().find(|race| !open.contains(&race.var)) {
            Some(race) => Err(format!("{race:?} is a race of a variable that is not open")),
            None => Ok(()),
        }
    });
    let (settled, left) = (settled.into_inner(), left.into_inner());
    assert!(settled > 1_000 && left > 1_000, "{settled} variables settled by locks, {left} open");
}

/// Whether a trace is read again, by what happens to `x`.
#[test]
fn locks_and_order_settle_variables_together() {
    let is_open = |text: &str| {
        let mut trace = trace(text);
        let x = trace.symbols.variables.intern(b"x").expect("few variables");
        census(&trace).open_variables().expect("a filter").contains(&x)
    };
    let locked = "A acq l; A w x; A rel l; B acq l; B w x; B rel l; ";
    assert!(!is_open(locked));
    // What comes before all threads, or after them, needs no lock.
    assert!(!is_open(&format!("M w x; M fork A; M fork B; {locked}M join A; M join B; M r x; M w x")));
    // Another lock is as good, once everything before is over.
    let other = locked.replace(" l", " m").replace("A ", "C ").replace("B ", "D ");
    let over = format!("M fork A; M fork B; {locked}M join A; M join B; M r x; M fork C; M fork D; {other}");
    assert!(!is_open(&over));
    assert!(is_open(&over.replace("M join B; ", "")), "B is not over");
    assert!(is_open(&format!("M fork A; M fork B; {locked}{other}")), "two locks at one time");
    assert!(is_open(&format!("M fork A; M fork B; M w x; {locked}")), "M is beside A");
    // Readers may share the lock with each other, and with nobody who writes.
    let shared = "A racq l; A r x; A rrel l; B racq l; B r x; B rrel l; ";
    assert!(!is_open(&format!("{shared}C acq l; C w x; C rel l")));
    assert!(is_open(&format!("{shared}C racq l; C w x; C rrel l")));
    // Atomic accesses do not race with each other.
    let atomics = "A store.release x; B store.release x; B load.acquire x; ";
    assert!(!is_open(atomics));
    assert!(is_open(&format!("{atomics}A w x")));
}

/// Two threads that pass a lock and a value to and fro need no more sections than the window holds.
#[test]
fn sections_that_cannot_matter_are_forgotten() {
    let round = "A acq l; A w x; A rel l; B acq l; B r x; B w y; B rel l; A r y; ";
    let trace = trace(&round.repeat(200));
    let analysis = short_syncp(&trace, 16, false);
    assert!(figure(&analysis, "critical sections kept") <= 12, "{:?}", analysis.figures());
    assert_eq!(
        figure(&analysis, "critical sections kept") + figure(&analysis, "critical sections collected"),
        400
    );
}

fn exact_in_every_window(text: &str) {
    let trace = trace(text);
    let expected = sync_preserving_races(&trace);
    for window in 2..=trace.events.len() as u64 {
        agrees(&trace, &expected, window, true).expect("exact");
    }
}

/// The section of M is known to all and forgotten, but it still ends the section of x for the new thread c, which pulls in
/// the acquire of n by v and with its end the first write of X.
#[test]
fn a_forgotten_section_still_ends_earlier_ones() {
    let text = "M fork x; M fork y; M fork v; v acq n; v w g; x ACQ1 l; x w p; x r g; x REL1 l; M ACQ2 l; M REL2 l; \
                M w k; y r k; v r k; M w f; y w f2; v w f3; M w f; y w f2; v w f3; M w f; y w f2; v w f3; \
                M fork c; y w X; y w h; v r h; v rel n; c r p; c acq n; c w X";
    for [first, second] in [["", ""], ["r", ""], ["", "r"], ["r", "r"]] {
        let text = text.replace("ACQ1", &format!("{first}acq")).replace("REL1", &format!("{first}rel"));
        exact_in_every_window(
            &text.replace("ACQ2", &format!("{second}acq")).replace("REL2", &format!("{second}rel")),
        );
    }
}

/// M does nothing but fork, and knows nothing when it forks C: what A and B know of each other must not be forgotten
/// before.
#[test]
fn a_thread_that_only_forks_counts() {
    exact_in_every_window(
        "M fork A; M fork B; A acq l; A w p; A w X; A rel l; B acq l; B rel l; B w k; A r k; A w f; B r f; A w f; \
         B r f; M fork C; C r p; C w X",
    );
}

/// As before, with a thread C that nobody forks.
#[test]
fn a_thread_that_starts_late_counts() {
    exact_in_every_window(
        "A acq l; A w p; A w X; A rel l; B acq l; B rel l; B w k; A r k; A w f; B r f; A w f; B r f; C r p; C w X",
    );
}

#[test]
fn published_window_policies_err_here() {
    let open = "v acq l; v w p; t r p; s acq m; s w g; v r g; v rel l; u w x; t acq l; t rel l; v acq l; v rel l; \
                t w x; u w y; s r y; s rel m; t acq m; t w y";
    let cases: [(&str, u64, &[u64]); 2] =
        [("T1 acq l; T1 w x; T1 rel l; T2 acq l; T2 w x", 4, &[]), (open, 5, &[2, 5, 14])];
    for (text, window, expected) in cases {
        let found = short_syncp(&trace(text), window, false).findings().racy_events();
        assert_eq!(found, expected.iter().map(|&index| EventIndex(index)).collect::<Vec<_>>());
    }
}

/// Threads in a tree: each inner one forks two, waits for them and reads what they wrote. Leaves pass locks and values to and fro `rounds` times. Text of
/// the tests' own form.
fn tree(depth: u32, rounds: usize) -> String {
    let inner = (1..1_u32 << depth).collect::<Vec<_>>();
    let leaves: Vec<_> = (1 << depth..2_u32 << depth).collect();
    let mut text = String::new();
    for thread in &inner {
        text.push_str(&format!("t{thread} fork t{0}; t{thread} fork t{1}; ", 2 * thread, 2 * thread + 1));
    }
    // A race, or else the trace would be read once.
    leaves.iter().for_each(|leaf| text.push_str(&format!("t{leaf} w z; ")));
    for _ in 0..rounds {
        for leaf in &leaves {
            text.push_str(&format!("t{leaf} acq l; t{leaf} r x; t{leaf} w x; t{leaf} rel l; "));
        }
    }
    for thread in inner.iter().rev() {
        text.push_str(&format!(
            "t{thread} join t{0}; t{thread} join t{1}; t{thread} r x; ",
            2 * thread,
            2 * thread + 1
        ));
    }
    text
}

#[test]
fn a_thread_that_waits_for_others_holds_nothing_back() {
    for depth in 1..=4 {
        let kept = [40, 160].map(|rounds| {
            let analysis = short_syncp(&trace(&tree(depth, rounds)), 16, false);
            assert!(figure(&analysis, "critical sections collected") > 0, "{:?}", analysis.figures());
            figure(&analysis, "critical sections kept")
        });
        let leaves = 1 << depth;
        assert!(kept[0] <= 3 * leaves && kept[1] <= 3 * leaves, "depth {depth}: {kept:?} sections kept");
    }
}

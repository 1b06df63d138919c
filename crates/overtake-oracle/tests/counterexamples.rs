//! Small traces on which published algorithms or well-known tools are wrong, with the answers of the definitions.

use overtake_oracle::{
    happens_before_races, lock_cover_races, lock_set_variables, predictable_races, reordering,
    schedulable_races, second_events, sync_preserving_races, sync_preserving_races_by_enumeration, trace,
    within,
};
use overtake_trace::EventIndex;

fn indices(events: Vec<EventIndex>) -> Vec<u64> {
    events.into_iter().map(|event| event.0).collect()
}

fn sync_preserving(text: &str) -> Vec<u64> {
    let trace = trace(text);
    let races = sync_preserving_races(&trace);
    assert_eq!(races, sync_preserving_races_by_enumeration(&trace));
    indices(second_events(&races))
}

fn predictable(text: &str) -> Vec<u64> {
    indices(second_events(&predictable_races(&trace(text))))
}

fn happens_before(text: &str) -> Vec<u64> {
    indices(second_events(&happens_before_races(&trace(text))))
}

/// A detector that reuses the progress of an earlier variable for a later one forgets the release of `l` by `v`.
const ADVANCED_CURSORS: &str = "v acq l; v w p; t r p; s acq m; s w g; v r g; v rel l; u w x; t acq l; t rel l; \
     v acq l; t w x; u w y; s r y; s rel m; t acq m; t w y";

#[test]
fn a_later_variable_needs_the_sections_of_an_earlier_one() {
    assert_eq!(sync_preserving(ADVANCED_CURSORS), [2, 5, 11, 13]);
    assert_eq!(predictable(ADVANCED_CURSORS), [2, 5, 11, 13]);
}

/// An old complete section pulls an old open acquire, whose release is within the window, into the ideal.
#[test]
fn sections_outside_the_window_matter() {
    let text = ADVANCED_CURSORS.replace("v acq l; t w x", "v acq l; v rel l; t w x");
    assert_eq!(sync_preserving(&text), [2, 5, 12, 14]);
    assert!(!predictable(&text).contains(&17));
    let races = sync_preserving_races(&trace(&text));
    assert_eq!(indices(second_events(&within(&races, 5))), [2, 5, 14]);
}

#[test]
fn a_section_counts_until_its_release_leaves_the_window() {
    let text = "T1 acq l; T1 w x; T1 rel l; T2 acq l; T2 w x";
    assert_eq!(sync_preserving(text), [] as [u64; 0]);
    assert_eq!(predictable(text), [] as [u64; 0]);
}

/// An algorithm that removes the last acquire it looked up forgets the section of T0.
#[test]
fn the_last_acquire_is_not_forgotten() {
    assert_eq!(sync_preserving("T0 acq l; T0 w x; T1 w x; T0 rel l; T1 acq l; T1 w x"), [2]);
}

/// A second thread must compare with all first accesses, also with those that another second thread has seen.
#[test]
fn second_threads_look_at_all_first_accesses() {
    let text = "T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 r x; T1 rel l; T2 r x";
    assert_eq!(sync_preserving(text), [6]);
}

#[test]
fn re_entrant_locks_are_flattened() {
    let text = "A acq l; A w z; B r z; A acq l; A rel l; A rel l; C acq l; C rel l; C w q; B w q";
    assert_eq!(sync_preserving(text), [2, 9]);
}

/// Reachability between open sections must be transitive through third threads.
#[test]
fn a_thread_reached_only_through_another_closes_a_cycle() {
    let text = "T0 acq l; T0 r y; T0 w x; T2 w y; T1 r y; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    assert_eq!(predictable(text), [3, 4]);
}

/// A section released after the second access need not count as open.
#[test]
fn what_follows_the_second_access_may_be_used() {
    let text = "T1 acq l; T1 r z; T1 rel l; T2 acq l; T2 w y; T3 r y; T3 w z; T2 rel l";
    assert_eq!(predictable(text), [5, 6]);
    assert_eq!(sync_preserving(text), [5]);
}

/// Ending the section of `l` would leave two sections of `m` open; the sync-preserving witness leaves `l` open instead.
#[test]
fn sync_preserving_is_not_optimistic_sync_reversal() {
    let text = "T1 acq m; T1 w x; T1 rel m; T0 acq l; T0 w y; T2 r y; T0 acq m; T2 r x; T0 rel l";
    let races = sync_preserving_races(&trace(text));
    assert!(races.iter().any(|race| (race.first.0, race.second.0) == (1, 7)));
}

#[test]
fn happens_before_reports_every_second_event() {
    assert_eq!(happens_before("T0 w x; T1 r x; T0 w x"), [1, 2]);
    assert_eq!(happens_before("T0 w x; T1 w x; T1 r x"), [1, 2]);
    assert_eq!(happens_before("T1 r x; T0 w x; T0 w x"), [1, 2]);
}

/// The lock held by T0 does not protect the reads of T1.
#[test]
fn held_locks_are_per_thread() {
    let text = "T0 acq l; T0 w x; T1 r x; T1 r x; T0 rel l";
    assert_eq!(lock_set_variables(&trace(text)).len(), 1);
    assert_eq!(indices(second_events(&lock_cover_races(&trace(text)))), [2, 3]);
}

/// Both writes hold the same lock; no notion predicts a race, although a section is open.
#[test]
fn open_sections_still_exclude() {
    let text = "T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x";
    for races in [happens_before_races, schedulable_races, lock_cover_races] {
        assert!(races(&trace(text)).is_empty());
    }
    assert_eq!(predictable(text), [] as [u64; 0]);
}

#[test]
fn schedules_are_checked_rule_by_rule() {
    use reordering::{Rule, check, check_race, is_sync_preserving};
    let schedule = |events: &[u64]| events.iter().copied().map(EventIndex).collect::<Vec<_>>();
    let rule = |text: &str, events: &[u64]| {
        check(&trace(text), &schedule(events)).map_err(|violation| violation.rule)
    };

    assert_eq!(rule("T0 w x; T1 w x", &[1, 0]), Ok(()));
    assert_eq!(rule("T0 w x; T0 w y", &[1]), Err(Rule::Previous));
    assert_eq!(rule("T0 w x", &[0, 0]), Err(Rule::OnceInTrace));
    assert_eq!(rule("T0 w x", &[1]), Err(Rule::OnceInTrace));
    assert_eq!(rule("T0 fork T1; T1 w x", &[1]), Err(Rule::Previous));
    assert_eq!(rule("T0 w x; T1 join T0", &[1]), Err(Rule::Awaited));
    assert_eq!(rule("T0 fork T1; T2 join T1", &[1]), Err(Rule::Awaited));
    assert_eq!(rule("T0 post s; T1 wait s", &[1, 0]), Err(Rule::Awaited));
    assert_eq!(rule("T0 acq l; T0 rel l; T1 acq l", &[0, 2]), Err(Rule::Exclusion));
    assert_eq!(rule("T0 racq l; T0 rrel l; T1 racq l", &[0, 2, 1]), Ok(()));
    assert_eq!(rule("T0 racq l; T0 rrel l; T1 acq l", &[0, 2]), Err(Rule::Exclusion));
    assert_eq!(rule("T0 w x; T1 r x", &[1]), Err(Rule::SameWrite));
    assert_eq!(rule("T0 r x; T1 w x", &[1, 0]), Err(Rule::SameWrite));
    assert_eq!(rule("T0 alloc A; T0 w A[0]; T1 free A", &[2, 0, 1]), Err(Rule::SameWrite));
    assert_eq!(
        rule("T0 acq l; T1 acq l; T1 w x", &[0, 1, 2]),
        Err(Rule::Exclusion),
        "without the inserted release"
    );
    assert_eq!(rule("T0 acq l; T1 acq l; T1 w x", &[0, 1, 1, 2]), Ok(()), "with it");

    let locks = trace("T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x; T0 w x");
    assert!(is_sync_preserving(&locks, &schedule(&[0, 1, 2, 3])));
    assert!(!is_sync_preserving(&locks, &schedule(&[2, 3, 0, 1])));
    let race = |events: &[u64], first, second| {
        check_race(&locks, &schedule(events), EventIndex(first), EventIndex(second))
            .map_err(|violation| violation.rule)
    };
    assert_eq!(race(&[2, 3, 0, 1], 4, 5), Ok(()));
    assert_eq!(race(&[2, 3, 0], 4, 5), Err(Rule::Enabled));
    assert_eq!(race(&[2, 3, 4, 0, 1], 4, 5), Err(Rule::Enabled));
    assert_eq!(race(&[], 0, 5), Err(Rule::Conflict));
}

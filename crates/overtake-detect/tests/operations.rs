//! What each operation orders: one small trace per row of `docs/semantics.md`, for every detector of the two
//! happens-before notions in the table.

mod common;

use common::run;
use overtake_detect::{DETECTORS, Notion, Options, Promise};
use overtake_oracle::{happens_before_races, schedulable_races, second_events, trace};
use overtake_trace::EventIndex;

/// Checks that `observed` and `schedulable` are the second events of the races of the two notions, by definition and by
/// every detector that promises them all; and that the others find the first.
#[track_caller]
fn races(text: &str, observed: &[u64], schedulable: &[u64]) {
    let trace = trace(text);
    let events = |events: &[u64]| events.iter().copied().map(EventIndex).collect::<Vec<_>>();
    let (observed, schedulable) = (events(observed), events(schedulable));
    assert_eq!(second_events(&happens_before_races(&trace)), observed, "happens-before by definition");
    assert_eq!(second_events(&schedulable_races(&trace)), schedulable, "schedulable by definition");
    for entry in DETECTORS {
        let found = || run(entry, &Options::default(), &trace, |job| job.findings().racy_events());
        match (entry.notion, entry.promise) {
            (Notion::HappensBefore, Promise::Exact) => assert_eq!(found(), observed, "{}", entry.name),
            (Notion::Schedulable, Promise::Exact) => assert_eq!(found(), schedulable, "{}", entry.name),
            (Notion::HappensBefore, Promise::ExactToFirstRace) => {
                let found = found();
                assert_eq!(found.first(), observed.first(), "{}", entry.name);
                assert!(found.iter().all(|event| observed.contains(event)), "{}: {found:?}", entry.name);
            }
            _ => {}
        }
    }
}

/// As [`races`], where both notions agree.
#[track_caller]
fn races_in_both(text: &str, seconds: &[u64]) {
    races(text, seconds, seconds);
}

#[test]
fn accesses_of_one_thread_do_not_race() {
    races_in_both("T0 w x; T0 r x; T0 w x", &[]);
}

#[test]
fn two_reads_do_not_race() {
    races_in_both("T0 r x; T1 r x", &[]);
}

#[test]
fn different_variables_do_not_race() {
    races_in_both("T0 w x; T1 w y", &[]);
}

#[test]
fn every_conflict_without_order_is_a_race() {
    races_in_both("T0 w x; T1 w x", &[1]);
    races_in_both("T0 r x; T1 w x", &[1]);
    races_in_both("T0 w x; T1 r x", &[1]);
}

#[test]
fn every_racy_access_is_reported_not_only_the_first() {
    races("T0 w x; T1 r x; T0 w x", &[1, 2], &[1, 2]);
    races("T0 w x; T1 w x; T1 r x", &[1, 2], &[1, 2]);
    races_in_both("T1 r x; T0 w x; T0 w x; T0 w x", &[1, 2, 3]);
    // The second read sees a write that its thread has learned of by the first.
    races("T0 w x; T1 r x; T1 r x", &[1, 2], &[1]);
}

#[test]
fn an_access_unordered_with_an_older_write_races_though_a_newer_write_is_ordered() {
    races_in_both("T0 w x; T1 w x; T1 acq l; T1 rel l; T2 acq l; T2 w x", &[1, 5]);
}

#[test]
fn a_write_races_with_each_of_several_readers() {
    let readers = "T0 r x; T1 r x; T2 r x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T3 acq l; T3 w x";
    races_in_both(readers, &[8]);
    let all = "T0 r x; T1 r x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T3 acq l; T3 w x";
    races_in_both(all, &[]);
}

#[test]
fn fork_orders_before_the_child() {
    races_in_both("T0 w x; T0 fork T1; T1 w x", &[]);
    races_in_both("T0 fork T1; T0 w x; T1 w x", &[2]);
}

#[test]
fn a_late_fork_orders_before_what_follows_it() {
    races_in_both("T1 w y; T0 w x; T0 fork T1; T1 w x; T0 r y", &[4]);
}

#[test]
fn join_orders_after_the_child() {
    races_in_both("T0 fork T1; T1 w x; T0 join T1; T0 w x", &[]);
    races_in_both("T0 fork T1; T1 w x; T0 w x; T0 join T1", &[2]);
}

#[test]
fn joining_a_child_without_events_orders_after_its_fork() {
    races_in_both("T0 w x; T0 fork T1; T2 join T1; T2 w x", &[]);
}

#[test]
fn a_joined_thread_that_goes_on_is_not_ordered_by_the_join() {
    races_in_both("T1 w x; T0 join T1; T1 w x; T0 r x", &[3]);
}

#[test]
fn release_orders_before_every_later_acquire() {
    races_in_both("T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x", &[]);
    races_in_both("T0 w x; T0 acq l; T0 rel l; T2 acq l; T2 rel l; T1 acq l; T1 w x", &[]);
    races_in_both("T0 acq l; T0 rel l; T0 w x; T1 acq l; T1 w x", &[4]);
    races_in_both("T0 w x; T0 acq l; T0 rel l; T1 acq m; T1 w x", &[4]);
}

#[test]
fn locks_need_not_nest() {
    races_in_both("T0 acq l; T0 acq m; T0 w x; T0 rel l; T0 w y; T0 rel m; T1 acq l; T1 r x; T1 r y", &[8]);
}

#[test]
fn a_section_open_at_the_end_orders_nothing() {
    races_in_both("T0 acq l; T0 w x; T1 w x", &[2]);
}

#[test]
fn shared_sections_are_ordered_with_exclusive_ones_only() {
    races_in_both("T0 acq l; T0 w x; T0 rel l; T1 racq l; T1 r x; T1 rrel l", &[]);
    races_in_both("T0 racq l; T0 r x; T0 rrel l; T1 acq l; T1 w x; T1 rel l", &[]);
    races_in_both("T0 racq l; T0 w x; T0 rrel l; T1 racq l; T1 w x; T1 rrel l", &[4]);
}

#[test]
fn an_exclusive_section_comes_after_all_shared_ones() {
    let both = "T0 racq l; T1 racq l; T0 r x; T1 r x; T0 rrel l; T1 rrel l; T2 acq l; T2 w x; T2 rel l";
    races_in_both(both, &[]);
    races_in_both("T0 racq l; T0 rrel l; T0 r x; T1 racq l; T1 r x; T1 rrel l; T2 acq l; T2 w x", &[7]);
}

#[test]
fn shared_sections_end_with_the_next_exclusive_one() {
    let twice = "T0 racq l; T0 r x; T0 rrel l; T1 acq l; T1 rel l; T2 racq l; T2 w x; T2 rrel l";
    races_in_both(twice, &[]);
}

#[test]
fn wait_comes_after_every_earlier_post() {
    races_in_both("T0 w x; T0 post s; T1 w y; T1 post s; T2 wait s; T2 w x; T2 w y", &[]);
    races_in_both("T2 wait s; T0 w x; T0 post s; T2 w x", &[3]);
    races_in_both("T0 w x; T0 post s; T1 wait u; T1 w x", &[3]);
    races_in_both("T0 post s; T0 w x; T1 wait s; T1 w x", &[3]);
}

#[test]
fn posts_are_not_ordered_with_each_other() {
    races_in_both("T0 w x; T0 post s; T1 post s; T1 w x", &[3]);
}

#[test]
fn a_release_store_orders_before_an_acquire_load_that_reads_it() {
    for (store, load) in [("release", "acquire"), ("seq_cst", "seq_cst"), ("acq_rel", "consume")] {
        races_in_both(&format!("T0 w x; T0 store.{store} a; T1 load.{load} a; T1 w x"), &[]);
    }
}

#[test]
fn relaxed_atomics_order_only_what_is_seen() {
    for (store, load) in [("relaxed", "acquire"), ("release", "relaxed"), ("relaxed", "relaxed")] {
        races(&format!("T0 w x; T0 store.{store} a; T1 load.{load} a; T1 w x"), &[3], &[]);
    }
}

#[test]
fn a_load_before_the_store_is_ordered_with_nothing() {
    races_in_both("T1 load.acquire a; T0 w x; T0 store.release a; T1 w x", &[3]);
}

#[test]
fn a_release_sequence_goes_on_over_read_modify_writes_of_any_thread() {
    races("T0 w x; T0 store.release a; T2 rmw.relaxed a; T1 load.acquire a; T1 w x", &[], &[]);
    races_in_both("T0 w x; T0 store.release a; T0 rmw.relaxed a; T1 load.acquire a; T1 w x", &[]);
}

#[test]
fn a_store_ends_a_release_sequence() {
    races("T0 w x; T0 store.release a; T2 store.relaxed a; T1 load.acquire a; T1 w x", &[4], &[4]);
    // Even one by the same thread, since C++20.
    races("T0 w x; T0 store.release a; T0 store.relaxed a; T1 load.acquire a; T1 w x", &[4], &[]);
}

#[test]
fn a_read_modify_write_acquires_and_releases() {
    races_in_both("T0 w x; T0 rmw.acq_rel a; T1 rmw.acq_rel a; T1 w x", &[]);
    let chain = "T0 w x; T0 rmw.acq_rel a; T1 w y; T1 rmw.acq_rel a; T2 load.acquire a; T2 w x; T2 w y";
    races_in_both(chain, &[]);
    let releases = "T0 w x; T0 rmw.release a; T1 w y; T1 rmw.release a; T2 load.acquire a; T2 w x; T2 w y";
    races_in_both(releases, &[]);
    races("T0 w x; T0 rmw.release a; T1 rmw.release a; T1 w x", &[3], &[]);
    races("T0 w x; T0 rmw.acquire a; T1 rmw.acquire a; T1 w x", &[3], &[]);
}

#[test]
fn a_release_fence_lends_its_release_to_later_stores() {
    races_in_both("T0 w x; T0 fence.release; T0 store.relaxed a; T1 load.acquire a; T1 w x", &[]);
    races("T0 fence.release; T0 w x; T0 store.relaxed a; T1 load.acquire a; T1 w x", &[4], &[]);
    races("T0 w x; T0 store.relaxed a; T0 fence.release; T1 load.acquire a; T1 w x", &[4], &[]);
    races("T0 w x; T0 fence.acquire; T0 store.relaxed a; T1 load.acquire a; T1 w x", &[4], &[]);
}

#[test]
fn an_acquire_fence_acquires_what_earlier_loads_saw() {
    races_in_both("T0 w x; T0 store.release a; T1 load.relaxed a; T1 fence.acquire; T1 w x", &[]);
    races("T0 w x; T0 store.release a; T1 fence.acquire; T1 load.relaxed a; T1 w x", &[4], &[]);
    races("T0 w x; T0 store.release a; T1 load.relaxed a; T1 fence.release; T1 w x", &[4], &[]);
    races_in_both("T0 w x; T0 store.release a; T1 load.relaxed a; T2 fence.seq_cst; T2 w x", &[4]);
}

#[test]
fn fences_meet_through_relaxed_atomics() {
    let fences = "T0 w x; T0 fence.release; T0 store.relaxed a; T1 load.relaxed a; T1 fence.acquire; T1 w x";
    races_in_both(fences, &[]);
    races_in_both(&fences.replace("acquire", "seq_cst").replace("release", "acq_rel"), &[]);
    races_in_both(&fences.replace("load.relaxed", "rmw.relaxed"), &[]);
}

#[test]
fn a_volatile_load_comes_after_every_earlier_volatile_store() {
    let two = "T0 w x; T0 store.volatile v; T1 w y; T1 store.volatile v; T2 load.volatile v; T2 w x; T2 w y";
    races_in_both(two, &[]);
    races_in_both("T0 w x; T0 store.volatile v; T1 store.volatile v; T1 w x", &[3]);
    races("T0 w x; T0 store.volatile v; T1 rmw.volatile v; T1 w x", &[], &[]);
    races("T0 w x; T0 store.volatile v; T1 store.relaxed v; T2 load.volatile v; T2 w x", &[4], &[4]);
}

#[test]
fn atomic_accesses_race_with_plain_ones_only() {
    races_in_both("T0 store.relaxed a; T1 store.relaxed a; T2 load.relaxed a; T3 rmw.relaxed a", &[]);
    races_in_both("T0 w a; T1 load.relaxed a", &[1]);
    races_in_both("T0 w a; T1 store.relaxed a", &[1]);
    races_in_both("T0 r a; T1 store.relaxed a", &[1]);
    races_in_both("T0 r a; T1 rmw.relaxed a", &[1]);
    races_in_both("T0 r a; T1 load.relaxed a", &[]);
    races_in_both("T0 store.relaxed a; T1 r a", &[1]);
    races_in_both("T0 load.relaxed a; T1 w a", &[1]);
    races_in_both("T0 load.relaxed a; T1 r a", &[]);
}

#[test]
fn an_atomic_write_does_not_answer_for_an_older_plain_one() {
    races_in_both("T0 w a; T0 store.relaxed a; T1 load.relaxed a", &[2]);
    races_in_both("T0 r a; T0 store.relaxed a; T1 store.relaxed a", &[2]);
}

#[test]
fn an_access_is_judged_after_what_it_acquires_itself() {
    // Ordered here by the load itself, which could still have come before the write.
    races("T0 w a; T0 store.release a; T1 load.acquire a", &[], &[2]);
}

#[test]
fn free_races_with_accesses_to_its_block() {
    races_in_both("T0 alloc b; T0 r b[0]; T1 free b", &[2]);
    races_in_both("T0 alloc b; T1 free b; T0 w b[1]", &[1, 2]);
    races_in_both("T0 alloc b; T0 fork T1; T1 free b; T0 w b[1]", &[3]);
    races_in_both("T0 alloc b; T0 fork T1; T0 w b[0]; T1 w b[1]", &[]);
    races_in_both("T0 alloc b; T0 w b[0]; T0 acq l; T0 rel l; T1 acq l; T1 free b", &[]);
    races_in_both("T0 w b[0]; T0 alloc b; T0 fork T1; T1 free b", &[]);
    races_in_both("T0 alloc b; T0 fork T1; T0 fork T2; T1 free b; T2 free b", &[4]);
}

#[test]
fn an_allocation_races_with_accesses_to_its_block() {
    races_in_both("T0 alloc b; T1 w b[1]", &[1]);
    races_in_both("T0 alloc b; T1 free b", &[1]);
    races_in_both("T0 w b[0]; T1 alloc b", &[]);
    races_in_both("T0 acq l; T0 alloc b; T0 rel l; T1 acq l; T1 r b[0]; T1 rel l", &[]);
}

#[test]
fn an_atomic_access_and_the_read_of_its_block_are_one_event() {
    races("T0 alloc b; T0 store.release b[0]; T1 load.acquire b[0]; T1 free b", &[], &[2]);
    races("T0 alloc b; T1 free b; T1 store.release b[0]; T0 load.acquire b[0]", &[1, 2], &[1, 3]);
    races("T0 alloc b; T0 free b; T0 w b[0]; T1 r b[0]", &[3], &[3]);
    races("T0 alloc b; T0 w b[0]; T1 r b[0]; T1 free b", &[2, 3], &[2]);
}

#[test]
fn markers_order_nothing() {
    races_in_both("T0 w x; T0 begin m; T0 end m; T0 request l; T1 branch m; T1 request l; T1 w x", &[6]);
}

#[test]
fn a_seen_write_orders_in_the_schedulable_notion_only() {
    races("T0 w x; T0 w y; T1 r y; T1 w x", &[2, 3], &[2]);
    races("T0 w y; T0 w x; T1 r y; T1 w x", &[2, 3], &[2, 3]);
}

#[test]
fn a_lock_taken_again_orders_as_if_taken_once() {
    races_in_both("T0 acq l; T0 acq l; T0 rel l; T0 w x; T0 rel l; T1 acq l; T1 w x", &[]);
    races_in_both("T0 acq l; T0 acq l; T0 rel l; T1 w x; T0 w x; T0 rel l", &[4]);
}

#[test]
fn dropped_releases_order_nothing() {
    races_in_both("T0 w x; T0 rel l; T1 acq l; T1 w x", &[3]);
}

//! Threads that wait or count in a loop: loads that see the same store are one record, and so are updates that nobody sees apart.

mod support;

use overtake_rawlog::RecordKind;
use support::{Run, each_compiler};

#[test]
fn loads_that_see_the_same_store_are_one_record() {
    each_compiler("spins.c", |run: Run| {
        let run = run.succeeded();
        let thread = &run.log().threads[&0];
        let loads = |name: &str| thread.count(RecordKind::AtomicLoad, run.printed(name));
        // Loads share a record only within a tail; 100,000 records would fill many tails.
        assert!((1..=2).contains(&loads("alone")), "{}", loads("alone"));
        assert!(thread.header.coalesced >= 99_998 + 8_900, "{}", thread.header.coalesced);
    });
}

#[test]
fn loads_are_recorded_again_after_an_access_and_after_a_store() {
    each_compiler("spins.c", |run: Run| {
        let run = run.succeeded();
        let thread = &run.log().threads[&0];
        assert_eq!(thread.count(RecordKind::AtomicLoad, run.printed("disturbed")), 1000);
        let stored = thread.count(RecordKind::AtomicLoad, run.printed("stored"));
        assert!((1000..1100).contains(&stored), "{stored}");
        assert_eq!(thread.count(RecordKind::AtomicStore, run.printed("stored")), 1000);
    });
}

#[test]
fn updates_with_nothing_in_between_are_one_record() {
    each_compiler("spins.c", |run: Run| {
        let run = run.succeeded();
        let updates = |thread: u32, name: &str| {
            run.log().threads[&thread].count(RecordKind::AtomicRmw, run.printed(name))
        };
        assert!((1..=2).contains(&updates(0, "updated")), "{}", updates(0, "updated"));
        assert_eq!(updates(0, "updated_and_disturbed"), 1000);
        assert_eq!(updates(0, "in_turns") + updates(1, "in_turns"), 200, "the other thread's are in between");
        assert_eq!(updates(0, "watched"), 100, "the other thread's loads are in between");
    });
}

#[test]
fn every_load_is_recorded_if_everything_is_to_be() {
    let program = support::Program::new("gcc", "spins.c");
    let run = program.run_with(&[], &[("OVERTAKE_EXACT", "1")]).succeeded();
    let loads = run.log().threads[&0].count(RecordKind::AtomicLoad, run.printed("alone"));
    assert_eq!(loads, 100_000);
}

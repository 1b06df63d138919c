//! What each operation orders: one test per row of the table in `docs/semantics.md`.
//!
//! Happens-before tests put operations between two writes of `x`: the first and the last event are the writes,
//! and they race exactly if the operations do not order them.

use overtake_oracle::{
    Pair, happens_before_races, lock_cover_races, lock_set_variables, predictable_races, schedulable_races,
    sync_preserving_ideal, sync_preserving_races, trace, variables, within,
};
use overtake_trace::EventIndex;

type Notion = fn(&overtake_trace::Trace) -> std::collections::BTreeSet<Pair>;

fn races(notion: Notion, text: &str) -> Vec<(u64, u64)> {
    let pairs = notion(&trace(text)).into_iter();
    pairs.map(|Pair { first: EventIndex(first), second: EventIndex(second), .. }| (first, second)).collect()
}

/// Whether `between` orders a write of `x` by T0, which comes before it, with one by T1, which comes after it.
fn orders(between: &str) -> bool {
    let text = format!("T0 w x; {between}; T1 w x");
    let last = trace(&text).events.len() as u64 - 1;
    let races = races(happens_before_races, &text);
    assert!(races.iter().all(|&race| race == (0, last)), "unexpected race: {races:?}");
    races.is_empty()
}

#[test]
fn nothing_orders_nothing() {
    assert!(!orders("T0 begin m; T1 begin m"));
    assert!(!orders("T0 end m; T1 branch m"));
    assert!(!orders("T0 request l; T1 request l"));
    assert!(!orders("T0 alloc A; T1 alloc B"));
}

#[test]
fn reads_and_threads_of_their_own_do_not_conflict() {
    assert_eq!(races(happens_before_races, "T0 r x; T1 r x; T0 w y; T0 w y"), []);
    assert_eq!(races(happens_before_races, "T0 r x; T1 w x; T0 r x"), [(0, 1), (1, 2)]);
    assert_eq!(races(happens_before_races, "T0 w A[0]; T1 w A[1]; T1 w A[0]"), [(0, 2)]);
}

#[test]
fn fork_orders_all_later_events_of_the_child() {
    assert!(orders("T0 fork T1; T1 r y"));
    assert!(!orders("T0 fork T2; T2 r y"));
    assert!(orders("T0 fork T2; T2 fork T1"));
}

#[test]
fn a_late_fork_orders_what_follows_it() {
    assert_eq!(races(happens_before_races, "T0 w x; T1 r x; T0 fork T1; T1 r x"), [(0, 1)]);
    for notion in [schedulable_races, sync_preserving_races, predictable_races] {
        assert_eq!(races(notion, "T1 r y; T0 w x; T0 fork T1; T1 w x"), [], "the write follows the fork");
        assert_eq!(races(notion, "T1 w x; T0 w x; T0 fork T1"), [(0, 1)]);
        assert_eq!(races(notion, "T0 w x; T0 fork T1; T2 w x; T2 fork T1; T1 w x"), [(0, 2)], "two forks");
    }
}

#[test]
fn join_orders_all_earlier_events_of_the_child() {
    assert!(orders("T1 join T0"));
    assert!(!orders("T1 join T2"));
    assert!(orders("T0 fork T2; T1 join T2"), "a child without events");
    assert_eq!(
        races(happens_before_races, "T0 r y; T1 join T0; T0 w x; T1 w x"),
        [(2, 3)],
        "an event after the join"
    );
    for notion in [schedulable_races, sync_preserving_races, predictable_races] {
        assert_eq!(races(notion, "T0 w x; T1 join T0; T1 w x"), []);
        assert_eq!(races(notion, "T0 w x; T0 fork T2; T1 join T2; T1 w x"), [], "a child without events");
        assert_eq!(races(notion, "T0 r y; T1 join T0; T0 w x; T1 w x"), [(2, 3)]);
    }
}

#[test]
fn release_orders_every_later_acquire() {
    assert!(orders("T0 acq l; T0 rel l; T1 acq l"));
    assert!(orders("T0 acq l; T0 rel l; T2 acq l; T2 rel l; T1 acq l"));
    assert!(!orders("T0 acq l; T0 rel l; T1 acq m"));
    assert!(!orders("T1 acq l; T1 rel l; T0 acq l; T0 rel l"));
}

#[test]
fn shared_sections_are_ordered_with_exclusive_ones_only() {
    assert!(orders("T0 acq l; T0 rel l; T1 racq l"));
    assert!(orders("T0 racq l; T0 rrel l; T1 acq l"));
    assert!(!orders("T0 racq l; T0 rrel l; T1 racq l"));
    assert!(
        orders("T0 racq l; T0 rrel l; T2 racq l; T2 rrel l; T1 acq l"),
        "the exclusive one comes after all shared"
    );
    assert!(orders("T0 acq l; T0 rel l; T2 racq l; T1 racq l"));
}

#[test]
fn post_orders_every_later_wait() {
    assert!(orders("T0 post s; T1 wait s"));
    assert!(orders("T0 post s; T2 post s; T1 wait s"));
    assert!(orders("T0 post s; T2 wait s; T1 wait s"));
    assert!(!orders("T0 post s; T1 wait s#1"));
    assert!(!orders("T1 wait s; T0 post s"));
    for notion in [schedulable_races, sync_preserving_races, predictable_races] {
        assert_eq!(races(notion, "T0 w x; T0 post s; T1 wait s; T1 w x"), []);
        assert_eq!(races(notion, "T0 post s; T0 w x; T1 wait s; T1 w x"), [(1, 3)]);
    }
}

#[test]
fn release_store_orders_the_acquire_load_that_sees_it() {
    for release in ["release", "acq_rel", "seq_cst", "volatile"] {
        for acquire in ["consume", "acquire", "acq_rel", "seq_cst", "volatile"] {
            assert!(orders(&format!("T0 store.{release} a; T1 load.{acquire} a")));
            assert!(orders(&format!("T0 rmw.{release} a; T1 rmw.{acquire} a")));
        }
        assert!(!orders(&format!("T0 store.{release} a; T1 load.relaxed a")));
        assert!(!orders(&format!("T0 store.{release} a; T1 load.acquire b")));
    }
    assert!(!orders("T0 store.relaxed a; T1 load.acquire a"));
    assert!(!orders("T0 store.release a; T1 rmw.release a"));
    assert!(!orders("T0 rmw.acquire a; T1 load.acquire a"));
    assert!(!orders("T0 load.seq_cst a; T1 load.seq_cst a"));
    assert!(!orders("T0 load.seq_cst a; T1 store.seq_cst a"));
}

#[test]
fn a_store_ends_a_release_sequence() {
    assert!(!orders("T0 store.release a; T0 store.relaxed a; T1 load.acquire a"), "by the same thread, too");
    assert!(!orders("T0 store.release a; T2 store.release a; T1 load.acquire a"));
    assert!(!orders("T0 store.release a; T2 store.relaxed a; T2 rmw.relaxed a; T1 load.acquire a"));
}

#[test]
fn a_read_modify_write_continues_a_release_sequence() {
    assert!(orders("T0 store.release a; T2 rmw.relaxed a; T1 load.acquire a"));
    assert!(orders("T0 store.release a; T2 rmw.release a; T3 rmw.relaxed a; T1 load.acquire a"));
    assert!(orders("T0 rmw.release a; T2 rmw.relaxed a; T1 rmw.acquire a"));
    let relaying = "T0 w x; T0 store.release a; T2 w y; T2 rmw.relaxed a; T1 load.acquire a; T1 r x; T1 r y";
    assert_eq!(races(happens_before_races, relaying), [(2, 6)], "the relaxed one releases nothing itself");
}

#[test]
fn release_fence_and_relaxed_store() {
    for release in ["release", "acq_rel", "seq_cst"] {
        assert!(orders(&format!("T0 fence.{release}; T0 store.relaxed a; T1 load.acquire a")));
    }
    assert!(!orders("T0 fence.acquire; T0 store.relaxed a; T1 load.acquire a"));
    assert!(!orders("T0 store.relaxed a; T0 fence.release; T1 load.acquire a"), "the fence comes too late");
    assert!(!orders("T2 fence.release; T0 store.relaxed a; T1 load.acquire a"), "another thread's fence");
    assert!(orders("T0 fence.release; T0 r y; T0 store.relaxed b; T0 store.relaxed a; T1 load.acquire a"));
    let after = "T0 fence.release; T0 w x; T0 store.relaxed a; T1 load.acquire a; T1 w x";
    assert_eq!(races(happens_before_races, after), [(1, 4)], "what follows the fence is not released");
    assert!(
        orders("T0 fence.release; T0 store.relaxed a; T2 rmw.relaxed a; T1 load.acquire a"),
        "heads a sequence"
    );
}

#[test]
fn acquire_fence_and_relaxed_load() {
    for acquire in ["consume", "acquire", "acq_rel", "seq_cst"] {
        assert!(orders(&format!("T0 store.release a; T1 load.relaxed a; T1 fence.{acquire}")));
    }
    assert!(!orders("T0 store.release a; T1 load.relaxed a; T1 fence.release"));
    assert!(!orders("T0 store.release a; T1 fence.acquire; T1 load.relaxed a"), "the fence comes too early");
    assert!(!orders("T0 store.release a; T1 load.relaxed a; T2 fence.acquire"), "another thread's fence");
    assert!(orders("T0 store.release a; T1 load.relaxed a; T1 load.relaxed b; T1 fence.acquire"));
    assert!(orders("T0 fence.release; T0 store.relaxed a; T1 load.relaxed a; T1 fence.acquire"));
    assert!(!orders("T0 fence.seq_cst; T1 fence.seq_cst"), "fences alone order nothing");
}

#[test]
fn plain_writes_take_no_part_in_modification_order() {
    let text = "T0 w x; T0 store.release a; T0 w a; T1 load.acquire a; T1 w x";
    assert_eq!(races(happens_before_races, text), [(2, 3)], "the load still reads from the store");
}

#[test]
fn volatile_loads_come_after_every_earlier_volatile_store() {
    assert!(orders("T0 store.volatile v; T2 store.volatile v; T1 load.volatile v"));
    assert!(orders("T0 store.volatile v; T2 rmw.volatile v; T1 load.volatile v"));
    assert!(!orders("T0 load.volatile v; T1 store.volatile v"));
    assert!(!orders("T0 load.volatile v; T1 load.volatile v"));
    assert!(
        !orders("T0 store.volatile v; T2 store.relaxed v; T1 load.volatile v"),
        "another store ends the sequence"
    );
    assert!(orders("T0 store.release v; T2 store.volatile v; T1 load.volatile v"), "a volatile one does not");
}

#[test]
fn atomics_race_with_plain_accesses_but_not_with_each_other() {
    assert_eq!(races(happens_before_races, "T0 store.relaxed x; T1 store.relaxed x; T2 rmw.relaxed x"), []);
    assert_eq!(
        races(happens_before_races, "T0 w x; T1 load.relaxed x; T2 store.relaxed x"),
        [(0, 1), (0, 2)]
    );
    assert_eq!(races(happens_before_races, "T0 r x; T1 load.relaxed x; T2 rmw.relaxed x"), [(0, 2)]);
    assert_eq!(races(happens_before_races, "T0 store.relaxed x; T1 r x"), [(0, 1)]);
}

/// The load is ordered by what it acquires itself. Predictors decide before the load runs, so they may overtake it.
#[test]
fn a_load_that_synchronises_may_still_be_overtaken() {
    let text = "T0 w x; T0 store.release x; T1 load.acquire x";
    assert_eq!(races(happens_before_races, text), []);
    for notion in [schedulable_races, sync_preserving_races, predictable_races] {
        assert_eq!(races(notion, text), [(0, 2)]);
    }
}

#[test]
fn predictors_keep_what_atomics_read() {
    let text = "T0 w x; T0 store.relaxed a; T1 load.relaxed a; T1 w x";
    assert_eq!(races(happens_before_races, text), [(0, 3)]);
    for notion in [schedulable_races, sync_preserving_races, predictable_races] {
        assert_eq!(races(notion, text), [], "the load would see something else");
    }
    let unread = "T0 w x; T0 store.release a; T1 store.release a; T1 load.acquire a; T1 w x";
    assert_eq!(races(sync_preserving_races, unread), [(0, 4)]);
}

#[test]
fn free_races_with_unordered_accesses_to_the_block() {
    let text = "T0 alloc A; T0 w A[0]; T1 free A";
    assert_eq!(races(happens_before_races, text), [(0, 2), (1, 2)]);
    assert_eq!(
        races(happens_before_races, "T0 alloc A; T0 fork T1; T1 free A; T0 load A[1]"),
        [(2, 3)],
        "also atomics"
    );
    assert_eq!(
        races(happens_before_races, "T0 w A[0]; T0 alloc A; T0 fork T1; T1 free A"),
        [],
        "before the alloc"
    );
    assert_eq!(
        races(happens_before_races, "T0 alloc A; T0 fork T1; T0 w B[0]; T1 free A"),
        [],
        "another block"
    );
    assert_eq!(
        races(happens_before_races, "T0 alloc A; T0 fork T1; T0 w A[0]; T1 w A[1]"),
        [],
        "elements do not conflict"
    );
    let synchronised = "T0 alloc A; T0 w A[0]; T0 acq l; T0 rel l; T1 acq l; T1 free A";
    assert_eq!(races(happens_before_races, synchronised), []);
    assert_eq!(races(sync_preserving_races, synchronised), [(0, 5), (1, 5)]);
}

#[test]
fn alloc_races_with_unordered_accesses_to_the_block() {
    assert_eq!(races(happens_before_races, "T0 alloc A; T1 w A[1]; T1 free A"), [(0, 1), (0, 2)]);
    assert_eq!(races(happens_before_races, "T0 alloc A; T0 fork T1; T1 w A[1]"), []);
    assert_eq!(races(happens_before_races, "T1 w A[1]; T0 alloc A"), [], "before the alloc");
    assert_eq!(
        races(schedulable_races, "T0 alloc A; T1 w A[1]; T1 free A"),
        [(0, 1)],
        "the access sees the alloc"
    );
}

#[test]
fn what_is_not_allocated_is_neither_used_nor_freed() {
    // T1 and T2 know of the block by a lock that T0 gives back; the free needs the alloc, and nothing else of T0.
    let text = "T0 acq l; T0 alloc A; T0 rel l; T1 acq l; T1 rel l; T1 free A; T2 w A[0]";
    let ideal = sync_preserving_ideal(&trace(text), EventIndex(5), EventIndex(6));
    assert_eq!(ideal, [0, 1, 2, 3, 4].map(EventIndex), "the lock is given back for T1");
    // With the alloc the lock is held until T1 has used the block, unless T2 takes it first.
    let text = "T0 acq l; T0 alloc A; T1 w A[0]; T1 w x; T0 r x; T0 rel l; T2 acq l; T2 rel l; T2 w A[0]";
    for (notion, is_race) in [(sync_preserving_races as Notion, false), (predictable_races, true)] {
        let pairs = races(notion, text);
        assert!(pairs.contains(&(1, 2)) && pairs.contains(&(2, 8)) == is_race, "{pairs:?}");
    }
}

#[test]
fn one_access_races_on_element_and_block() {
    let trace = trace("T0 alloc A; T0 w A[0]; T0 free A; T1 w A[0]");
    let pairs = happens_before_races(&trace);
    assert_eq!(variables(&pairs).len(), 2);
    let pairs: Vec<_> = pairs.iter().map(|pair| (pair.first.0, pair.second.0)).collect();
    assert_eq!(pairs, [(0, 3), (1, 3), (2, 3)]);
}

#[test]
fn schedulable_order_ends_before_the_second_event() {
    assert_eq!(
        races(schedulable_races, "T0 w x; T1 r x; T1 w x"),
        [(0, 1)],
        "the read's own edge does not count"
    );
    assert_eq!(races(happens_before_races, "T0 w x; T1 r x; T1 w x"), [(0, 1), (0, 2)]);
}

#[test]
fn sync_preserving_races_overtake_critical_sections() {
    let text = "T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    assert_eq!(races(happens_before_races, text), []);
    assert_eq!(races(schedulable_races, text), []);
    assert_eq!(races(sync_preserving_races, text), [(0, 5)]);
    let reversing = "T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    assert_eq!(races(sync_preserving_races, reversing), []);
    assert_eq!(races(predictable_races, reversing), [(1, 5)], "only with the sections the other way round");
    let shared = "T0 racq l; T0 w x; T0 rrel l; T1 racq l; T1 rrel l; T1 w x";
    assert_eq!(races(sync_preserving_races, shared), [(1, 5)], "shared sections exclude nothing");
    let writer = "T0 racq l; T0 w x; T0 rrel l; T1 acq l; T1 rel l; T1 w x";
    assert_eq!(races(sync_preserving_races, writer), []);
    let open = "T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 w x";
    assert_eq!(races(sync_preserving_races, open), [(0, 4)], "a section open at the end");
}

#[test]
fn lock_cover_asks_for_a_common_lock_held_once_exclusively() {
    assert_eq!(races(lock_cover_races, "T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x"), []);
    assert_eq!(races(lock_cover_races, "T0 acq l; T0 w x; T0 rel l; T1 acq m; T1 w x"), [(1, 4)]);
    assert_eq!(races(lock_cover_races, "T0 racq l; T0 r x; T0 rrel l; T1 acq l; T1 w x"), []);
    assert_eq!(races(lock_cover_races, "T0 racq l; T0 r x; T1 racq l; T1 w x"), [(1, 3)]);
    assert_eq!(races(lock_cover_races, "T0 w x; T0 fork T1; T1 w x"), [(0, 2)], "order does not count");
}

#[test]
fn lock_set_asks_for_one_lock_at_all_accesses() {
    let racy = |text: &str| !lock_set_variables(&trace(text)).is_empty();
    assert!(!racy("T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x"));
    assert!(!racy("T0 w x; T0 r x; T1 w y"), "one thread");
    assert!(!racy("T0 r x; T1 r x"), "no write");
    assert!(!racy("T0 store x; T1 store x"), "no conflicting pair");
    assert!(racy("T0 store x; T1 r x"));
    assert!(racy("T0 acq l; T0 w x; T0 rel l; T0 r x; T1 acq l; T1 w x"), "unprotected even where alone");
    assert!(!racy("T0 acq l; T0 w x; T0 rel l; T1 racq l; T1 r x"), "a shared hold protects a read");
    assert!(racy("T0 racq l; T0 w x; T0 rrel l; T1 acq l; T1 w x"), "but not a write");
    let pairwise = "T0 acq a; T0 acq b; T0 w x; T0 rel a; T0 rel b; T1 acq b; T1 acq c; T1 w x; T1 rel b; T1 rel c; \
                    T2 acq a; T2 acq c; T2 w x";
    assert!(
        racy(pairwise) && lock_cover_races(&trace(pairwise)).is_empty(),
        "covered pair by pair, by no one lock"
    );
}

#[test]
fn windows_count_both_ends() {
    let pairs = happens_before_races(&trace("T0 w x; T0 r y; T1 w x"));
    assert!(within(&pairs, 2).is_empty());
    assert_eq!(within(&pairs, 3), pairs);
}

#[test]
fn repaired_traces_are_judged_as_repaired() {
    assert_eq!(
        races(lock_cover_races, "T0 acq l; T0 acq l; T0 rel l; T0 w x; T0 rel l; T1 acq l; T1 w x"),
        []
    );
    let stolen = "T0 acq l; T0 w x; T1 acq l; T1 w x";
    assert_eq!(races(happens_before_races, stolen), [], "the missing release is inserted");
    assert_eq!(races(happens_before_races, "T0 rel l; T0 w x; T0 rel l; T1 acq l; T1 w x"), [(1, 4)]);
}

use std::collections::BTreeMap;

use super::*;
use crate::testing::{LockStep, random_lock_steps};

type Modes = BTreeMap<LockId, LockMode>;

fn common_lock(first: &Modes, second: &Modes) -> bool {
    first.iter().any(|(lock, mode)| {
        second.get(lock).is_some_and(|other| *mode == LockMode::Exclusive || *other == LockMode::Exclusive)
    })
}

fn as_set(locks: &LockSets, set: SetId) -> Vec<LockId> {
    locks.locks(set).to_vec()
}

#[test]
fn held_locks_are_those_that_a_thread_holds_by_the_rules() {
    let mut held = HeldLocks::default();
    held.grow_to(3);
    random_lock_steps(20_000, |LockStep { thread, lock, mode, takes }, locks| {
        match takes {
            true => held.acquire(thread, lock, mode),
            false => held.release(thread, lock, mode),
        }
        let now = held.of(thread);
        assert_eq!([now.all, now.exclusive].map(|set| as_set(&held.sets, set)), locks.of(thread));
    });
}

#[test]
fn held_locks_do_what_maps_do() {
    let mut state = 3_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut held = HeldLocks::default();
    held.grow_to(3);
    let mut maps = vec![Modes::new(); 3];
    let mut kept: Vec<(Held, Modes)> = Vec::new();
    for step in 0..100_000 {
        let (thread, lock) = (random(3) as usize, LockId(random(9) as u32));
        let id = ThreadId(thread as u32);
        if let Some(mode) = maps[thread].remove(&lock) {
            held.release(id, lock, mode);
        } else {
            let mode = if random(3) == 0 { LockMode::Shared } else { LockMode::Exclusive };
            held.acquire(id, lock, mode);
            maps[thread].insert(lock, mode);
        }
        let now = held.of(id);
        let exclusive = maps[thread].iter().filter(|(_, mode)| **mode == LockMode::Exclusive);
        assert_eq!(as_set(&held.sets, now.all), maps[thread].keys().copied().collect::<Vec<_>>());
        assert_eq!(as_set(&held.sets, now.exclusive), exclusive.map(|(lock, _)| *lock).collect::<Vec<_>>());
        if random(10) == 0 {
            kept.push((now, maps[thread].clone()));
            kept.drain(..kept.len().saturating_sub(20));
        }
        for (before, map) in &kept {
            assert_eq!(held.sets.have_common_lock(*before, now), common_lock(map, &maps[thread]));
            let common = held.sets.intersect(before.all, now.all);
            let expected: Vec<_> =
                map.keys().filter(|lock| maps[thread].contains_key(lock)).copied().collect();
            assert_eq!(as_set(&held.sets, common), expected);
            let in_mode = |(lock, mode): (&LockId, &LockMode)| {
                maps[thread].get(lock).is_some_and(|now| now == mode || *mode == LockMode::Shared)
            };
            assert_eq!(held.sets.holds_all_of(now, *before), map.iter().all(in_mode));
        }
        if step % 1000 == 0 {
            held.collect(kept.iter().flat_map(|(held, _)| [held.all, held.exclusive]));
        }
    }
}

#[test]
fn a_release_of_a_lock_from_before_the_trace_changes_nothing() {
    let mut held = HeldLocks::default();
    held.grow_to(1);
    held.release(ThreadId(0), LockId(4), LockMode::Exclusive);
    assert_eq!(held.of(ThreadId(0)), Held::default());
}

#[test]
fn many_locks_held_at_once_take_bounded_memory() {
    let mut held = HeldLocks::default();
    held.grow_to(1);
    let (thread, at_once) = (ThreadId(0), 1000);
    for round in 0..100 {
        for lock in 0..at_once {
            held.acquire(thread, LockId(round * 10_000 + lock), LockMode::Exclusive);
        }
        for lock in 0..at_once {
            held.release(thread, LockId(round * 10_000 + lock), LockMode::Exclusive);
            if held.wants_collection() {
                held.collect(std::iter::empty());
            }
        }
    }
    assert_eq!(held.of(thread), Held::default());
    assert!(held.state_bytes() < 64 << 20, "{} bytes", held.state_bytes());
}

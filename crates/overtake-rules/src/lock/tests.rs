use std::vec::Vec;

use super::LockMode::{Exclusive, Shared};
use super::*;

type Lock = Holders<Vec<Claim<u32>>>;

fn acquire(lock: &mut Lock, thread: u32, mode: LockMode) -> (Acquired, Vec<u32>) {
    let mut evicted = Vec::new();
    let acquired = lock.acquire(thread, mode, || (), |holding| evicted.push(holding.thread));
    (acquired, evicted)
}

fn ended(thread: u32, mode: LockMode) -> Released<u32> {
    Released::Ended(Holding { thread, mode, depth: 1, section: () })
}

#[test]
fn a_lock_taken_twice_is_given_back_twice() {
    let mut lock = Lock::default();
    assert_eq!(acquire(&mut lock, 1, Exclusive), (Acquired::Begun, Vec::new()));
    assert_eq!(acquire(&mut lock, 1, Exclusive), (Acquired::Deeper, Vec::new()));
    assert_eq!(acquire(&mut lock, 1, Shared), (Acquired::Deeper, Vec::new()));
    assert_eq!(lock.release(1, Shared), Released::Shallower);
    assert_eq!(lock.release(1, Exclusive), Released::Shallower);
    assert_eq!(lock.release(1, Exclusive), ended(1, Exclusive));
    assert_eq!(lock.release(1, Exclusive), Released::Unheld);
}

#[test]
fn shared_holders_stand_side_by_side_and_end_when_one_acquires_exclusively() {
    let mut lock = Lock::default();
    for thread in [1, 2, 3] {
        assert_eq!(acquire(&mut lock, thread, Shared), (Acquired::Begun, Vec::new()));
    }
    assert!(lock.is_free_for(Shared) && !lock.is_free_for(Exclusive));
    assert_eq!(acquire(&mut lock, 2, Exclusive), (Acquired::Begun, [1, 2, 3].into()));
    assert_eq!(lock.mode_of(2), Some(Exclusive));
    // The missing release comes late. Thread 2 still has its own section to end.
    assert_eq!(lock.release(1, Shared), Released::Settled);
    assert_eq!(lock.release(1, Shared), Released::Unheld);
    assert_eq!(lock.release(2, Exclusive), ended(2, Exclusive));
    assert_eq!(lock.release(3, Exclusive), Released::Settled);
    assert!(lock.is_empty());
}

#[test]
fn a_thread_that_acquires_again_owes_no_release_any_more() {
    let mut lock = Lock::default();
    acquire(&mut lock, 1, Exclusive);
    assert_eq!(acquire(&mut lock, 2, Exclusive).1, [1]);
    assert_eq!(acquire(&mut lock, 1, Exclusive).1, [2]);
    assert_eq!(lock.release(1, Exclusive), ended(1, Exclusive));
    assert_eq!(lock.release(1, Exclusive), Released::Unheld);
    assert_eq!(lock.release(2, Exclusive), Released::Settled);
}

#[test]
fn an_exclusive_release_by_another_thread_ends_the_section_of_the_holder() {
    let mut lock = Lock::default();
    acquire(&mut lock, 1, Exclusive);
    acquire(&mut lock, 1, Exclusive);
    assert_eq!(lock.release(2, Shared), Released::Unheld);
    let holding = Holding { thread: 1, mode: Exclusive, depth: 2, section: () };
    assert_eq!(lock.release(2, Exclusive), Released::Foreign(holding));
    assert!(lock.is_empty());
    acquire(&mut lock, 1, Shared);
    assert_eq!(lock.release(2, Exclusive), Released::Unheld);
}

#[test]
fn a_section_ends_in_the_mode_in_which_it_began() {
    let mut lock = Lock::default();
    acquire(&mut lock, 1, Shared);
    assert_eq!(lock.release(1, Exclusive), ended(1, Shared));
    acquire(&mut lock, 1, Exclusive);
    assert_eq!(lock.release(1, Shared), ended(1, Exclusive));
    acquire(&mut lock, 1, Shared);
    assert_eq!(lock.release_any(1), ended(1, Shared));
}

#[test]
fn the_end_of_a_thread_ends_its_section_however_deep() {
    let mut lock = Lock::default();
    acquire(&mut lock, 1, Exclusive);
    acquire(&mut lock, 1, Exclusive);
    assert_eq!(lock.release_all(1).map(|holding| holding.depth), Some(2));
    assert_eq!(lock.release_all(1), None);
    assert!(lock.is_empty());
}

#[test]
fn acquires_wait_for_a_foreign_release_up_to_the_first_exclusive_one() {
    let mut handover = Handover::default();
    assert_eq!(handover.after(Exclusive), None);
    handover.leave('a');
    assert_eq!([handover.after(Shared), handover.after(Shared)], [Some('a'), Some('a')]);
    assert_eq!(handover.after(Exclusive), Some('a'));
    assert!(handover.is_empty());
}

/// Pseudo-random numbers, the same on every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (self.0 >> 33) % limit
    }
}

#[test]
fn sections_of_threads_and_counts_say_the_same_as_holders_of_locks() {
    let mut numbers = Numbers(1);
    let mut locks = [(); 4].map(|()| Lock::default());
    let mut threads = [(); 3].map(|()| OpenSections::<Vec<OpenSection<usize>>>::default());
    let mut count = HoldingCount::default();
    for _ in 0..20_000 {
        let (thread, lock) = (numbers.below(3) as usize, numbers.below(4) as usize);
        let mode = if numbers.below(2) == 0 { Shared } else { Exclusive };
        if let Some(held) = locks[lock].mode_of(thread as u32) {
            assert_eq!(locks[lock].release(thread as u32, held), ended(thread as u32, held));
            assert_eq!(threads[thread].release(lock).map(|open| open.mode), Some(held));
            count.end();
        } else if locks[lock].is_free_for(mode) {
            assert_eq!(acquire(&mut locks[lock], thread as u32, mode), (Acquired::Begun, Vec::new()));
            threads[thread].acquire(lock, mode, ());
            count.begin();
        }
        let mut held = 0;
        for (number, lock) in locks.iter().enumerate() {
            for holding in lock.holdings() {
                let open = threads[holding.thread as usize].sections();
                assert!(open.iter().any(|open| (open.lock, open.mode) == (number, holding.mode)));
                held += 1;
            }
        }
        assert_eq!(threads.iter().map(|open| open.sections().len()).sum::<usize>(), held);
        assert_eq!(count.held, held as u64);
    }
    assert!(count.most_held >= 4 && count.begun > 1_000, "{count:?}");
}

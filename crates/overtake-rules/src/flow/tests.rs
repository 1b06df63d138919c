//! The rules over the simplest store: sets of threads.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::AccessKind::{Load, Rmw, Store};
use crate::LockMode::{Exclusive, Shared};
use crate::MemoryOrder::{AcqRel, Acquire, Relaxed, Release, Volatile};

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Numbers {}

impl Ids for Numbers {
    type Thread = u32;
    type Lock = u32;
    type Object = u32;
    type Variable = u32;
}

/// The threads that each thread and each carrier knows of.
#[derive(Default)]
struct Sets {
    threads: BTreeMap<u32, BTreeSet<u32>>,
    carriers: BTreeMap<(usize, u32), BTreeSet<u32>>,
}

impl Sets {
    fn known(&self, thread: u32) -> BTreeSet<u32> {
        let mut known = self.threads.get(&thread).cloned().unwrap_or_default();
        known.insert(thread);
        known
    }

    fn held(&self, carrier: Carrier<Numbers>) -> BTreeSet<u32> {
        self.carriers.get(&carrier.key()).cloned().unwrap_or_default()
    }

    fn transfer(&mut self, from: Carrier<Numbers>, to: Carrier<Numbers>) {
        let held = self.held(from);
        self.carriers.entry(to.key()).or_default().extend(held);
    }

    /// Whether `to` knows what `from` did.
    fn orders(&self, from: u32, to: u32) -> bool {
        self.known(to).contains(&from)
    }
}

impl Flows for Sets {
    type Ids = Numbers;

    fn publish(&mut self, from: u32, to: Carrier<Numbers>) {
        let known = self.known(from);
        self.carriers.entry(to.key()).or_default().extend(known);
    }

    fn replace(&mut self, from: u32, to: Carrier<Numbers>) {
        self.carriers.insert(to.key(), self.known(from));
    }

    fn receive(&mut self, to: u32, from: Carrier<Numbers>) {
        let held = self.held(from);
        self.threads.entry(to).or_default().extend(held);
    }

    fn keep_for_fence(&mut self, thread: u32, var: u32) {
        self.transfer(Carrier::Sequence(var), Carrier::AcquireFence(thread));
    }

    fn release_by_fence(&mut self, thread: u32, var: u32) {
        self.transfer(Carrier::ReleaseFence(thread), Carrier::Sequence(var));
    }

    fn forget(&mut self, carrier: Carrier<Numbers>) {
        self.carriers.remove(&carrier.key());
    }

    fn start(&mut self, parent: u32, child: u32) {
        let known = self.known(parent);
        self.threads.entry(child).or_default().extend(known);
    }

    fn end(&mut self, child: u32, parent: u32) {
        let known = self.known(child);
        self.threads.entry(parent).or_default().extend(known);
    }
}

const X: u32 = 7;

#[test]
fn an_exclusive_release_orders_every_later_acquire() {
    let mut sets = Sets::default();
    release(&mut sets, 1, X, Exclusive);
    acquire(&mut sets, 2, X, Shared);
    acquire(&mut sets, 3, X, Exclusive);
    assert!(sets.orders(1, 2) && sets.orders(1, 3));
}

#[test]
fn a_shared_release_orders_later_exclusive_acquires_only() {
    let mut sets = Sets::default();
    release(&mut sets, 1, X, Shared);
    release(&mut sets, 2, X, Shared);
    acquire(&mut sets, 3, X, Shared);
    assert!(!sets.orders(1, 3) && !sets.orders(2, 3));
    acquire(&mut sets, 3, X, Exclusive);
    assert!(sets.orders(1, 3) && sets.orders(2, 3));
    release(&mut sets, 3, X, Exclusive);
    acquire(&mut sets, 4, X, Shared);
    assert!(sets.orders(1, 4));
}

#[test]
fn forks_joins_posts_and_waits_order() {
    let mut sets = Sets::default();
    fork(&mut sets, 1, 2);
    assert!(sets.orders(1, 2) && !sets.orders(2, 1));
    join(&mut sets, 1, 2);
    assert!(sets.orders(2, 1));
    post(&mut sets, 1, X);
    post(&mut sets, 3, X);
    wait(&mut sets, 4, X);
    assert!(sets.orders(2, 4) && sets.orders(3, 4));
}

#[test]
fn an_acquiring_load_comes_after_the_release_that_it_reads() {
    let mut sets = Sets::default();
    atomic(&mut sets, 1, X, Store, Release);
    atomic(&mut sets, 2, X, Load, Relaxed);
    atomic(&mut sets, 3, X, Load, Acquire);
    assert!(!sets.orders(1, 2) && sets.orders(1, 3));
    fence(&mut sets, 2, Acquire);
    assert!(sets.orders(1, 2));
}

#[test]
fn read_modify_writes_continue_a_release_sequence_and_stores_end_it() {
    let mut sets = Sets::default();
    atomic(&mut sets, 1, X, Store, Release);
    atomic(&mut sets, 2, X, Rmw, Relaxed);
    atomic(&mut sets, 3, X, Rmw, Release);
    atomic(&mut sets, 4, X, Load, Acquire);
    assert!(sets.orders(1, 4) && !sets.orders(2, 4) && sets.orders(3, 4));
    atomic(&mut sets, 1, X, Store, Relaxed);
    atomic(&mut sets, 5, X, Load, Acquire);
    assert!(!sets.orders(1, 5) && !sets.orders(3, 5));
}

#[test]
fn a_read_modify_write_that_acquires_and_releases_passes_on_what_it_acquired() {
    let mut sets = Sets::default();
    atomic(&mut sets, 1, X, Store, Release);
    atomic(&mut sets, 2, X, Rmw, AcqRel);
    atomic(&mut sets, 3, X, Load, Acquire);
    assert!(sets.orders(1, 3) && sets.orders(2, 3));
}

#[test]
fn a_relaxed_store_releases_what_the_last_release_fence_kept() {
    let mut sets = Sets::default();
    fork(&mut sets, 1, 2);
    fence(&mut sets, 2, Release);
    join(&mut sets, 2, 3);
    atomic(&mut sets, 2, X, Store, Relaxed);
    atomic(&mut sets, 4, X, Load, Acquire);
    assert!(sets.orders(1, 4) && sets.orders(2, 4) && !sets.orders(3, 4));
}

#[test]
fn a_volatile_load_comes_after_every_earlier_volatile_store() {
    let mut sets = Sets::default();
    atomic(&mut sets, 1, X, Store, Volatile);
    atomic(&mut sets, 2, X, Store, Volatile);
    atomic(&mut sets, 3, X, Load, Volatile);
    assert!(sets.orders(1, 3) && sets.orders(2, 3));
}

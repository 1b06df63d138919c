//! The fast clocks against clocks that are plain maps, copied whole at every step.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::{Epoch, SnapshotId, Snapshots, Stamp, ThreadClock, VectorClock};

/// A clock as the definition has it: thread to time.
#[derive(Clone, Default, Debug)]
struct Naive(BTreeMap<u32, u32>);

impl Naive {
    fn get(&self, thread: u32) -> u32 {
        self.0.get(&thread).copied().unwrap_or(0)
    }

    fn join(&mut self, other: &Naive) {
        for (&thread, &time) in &other.0 {
            let mine = self.0.entry(thread).or_insert(0);
            *mine = time.max(*mine);
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Tick(usize),
    /// A thread's stamp goes to a slot, replacing what was there.
    Publish(usize, usize),
    /// A thread joins what a slot holds.
    Join(usize, usize),
    /// Two slots are joined into a third, as a clock that belongs to no thread.
    Merge(usize, usize, usize),
    JoinThread(usize, usize),
    ForgetAll,
}

const THREADS: usize = 5;
const SLOTS: usize = 6;

fn step() -> impl Strategy<Value = Step> {
    let (thread, slot) = (0..THREADS, 0..SLOTS);
    prop_oneof![
        1 => thread.clone().prop_map(Step::Tick),
        6 => (thread.clone(), slot.clone()).prop_map(|(thread, slot)| Step::Publish(thread, slot)),
        6 => (thread.clone(), slot.clone()).prop_map(|(thread, slot)| Step::Join(thread, slot)),
        2 => (slot.clone(), slot.clone(), slot).prop_map(|(a, b, to)| Step::Merge(a, b, to)),
        1 => (thread.clone(), thread).prop_map(|(a, b)| Step::JoinThread(a, b)),
        1 => Just(Step::ForgetAll),
    ]
}

#[derive(Clone, Copy)]
enum Slot {
    Stamp(Stamp),
    Merged(SnapshotId),
}

struct Pair {
    numbers: [u32; THREADS],
    snapshots: Snapshots,
    clocks: Vec<ThreadClock>,
    slots: [Slot; SLOTS],
    naive_clocks: Vec<Naive>,
    naive_slots: Vec<Naive>,
}

impl Pair {
    fn new(numbers: [u32; THREADS]) -> Pair {
        Pair {
            numbers,
            snapshots: Snapshots::new(),
            clocks: numbers.map(ThreadClock::new).into(),
            slots: [Slot::Merged(SnapshotId::EMPTY); SLOTS],
            naive_clocks: numbers.map(|thread| Naive([(thread, 1)].into())).into(),
            naive_slots: vec![Naive::default(); SLOTS],
        }
    }

    fn own(&mut self, thread: usize) -> &mut u32 {
        self.naive_clocks[thread].0.get_mut(&self.numbers[thread]).expect("a thread knows itself")
    }

    fn put(&mut self, slot: usize, new: Slot) {
        let (Slot::Stamp(Stamp { snapshot, .. }) | Slot::Merged(snapshot)) = self.slots[slot];
        self.snapshots.release(snapshot);
        self.slots[slot] = new;
    }

    fn merge(&mut self, slots: [usize; 2]) -> SnapshotId {
        let mut merged = VectorClock::new();
        for slot in slots {
            match self.slots[slot] {
                Slot::Stamp(stamp) => self.snapshots.join_into(&mut merged, stamp),
                Slot::Merged(id) => merged.join(self.snapshots.times(id)),
            };
        }
        self.snapshots.insert(merged.times())
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Tick(thread) => {
                self.clocks[thread].tick();
                *self.own(thread) += 1;
            }
            Step::Publish(thread, slot) => {
                match &mut self.slots[slot] {
                    Slot::Stamp(place) => self.clocks[thread].publish_to(place, &mut self.snapshots),
                    Slot::Merged(_) => {
                        let stamp = self.clocks[thread].publish(&mut self.snapshots);
                        self.put(slot, Slot::Stamp(stamp));
                    }
                }
                self.naive_slots[slot] = self.naive_clocks[thread].clone();
                *self.own(thread) += 1;
            }
            Step::Join(thread, slot) => {
                let before = self.naive_clocks[thread].clone();
                let _: bool = match self.slots[slot] {
                    Slot::Stamp(stamp) => self.clocks[thread].join(&self.snapshots, stamp),
                    Slot::Merged(id) => self.clocks[thread].join_times(self.snapshots.times(id)),
                };
                self.naive_clocks[thread].join(&self.naive_slots[slot]);
                assert!(
                    self.naive_clocks[thread].get(self.numbers[thread]) == before.get(self.numbers[thread])
                );
            }
            Step::Merge(a, b, to) => {
                let merged = self.merge([a, b]);
                self.put(to, Slot::Merged(merged));
                let mut naive = self.naive_slots[a].clone();
                naive.join(&self.naive_slots[b]);
                self.naive_slots[to] = naive;
            }
            Step::JoinThread(thread, other) if thread != other => {
                let [clock, from] = self.clocks.get_disjoint_mut([thread, other]).expect("two threads");
                clock.join_thread(from);
                let from = self.naive_clocks[other].clone();
                self.naive_clocks[thread].join(&from);
                *self.own(other) += 1;
            }
            Step::JoinThread(..) => {}
            Step::ForgetAll => {
                for slot in 0..SLOTS {
                    self.put(slot, Slot::Merged(SnapshotId::EMPTY));
                    self.naive_slots[slot] = Naive::default();
                }
                for thread in 0..THREADS {
                    self.clocks[thread].forget(&mut self.snapshots);
                    let own = *self.own(thread);
                    self.naive_clocks[thread] = Naive([(self.numbers[thread], own)].into());
                }
                assert_eq!(self.snapshots.live(), 0);
            }
        }
    }

    fn check(&self) {
        for (at, &thread) in self.numbers.iter().enumerate() {
            for (clock, naive) in self.clocks.iter().zip(&self.naive_clocks) {
                assert_eq!(clock.get(thread), naive.get(thread));
                let time = naive.get(thread);
                assert!(clock.covers(Epoch { thread, time }));
                let own = clock.epoch().thread == thread;
                assert_eq!(clock.covers(Epoch { thread, time: time + 1 }), own);
            }
            assert_eq!(self.clocks[at].epoch().time, self.naive_clocks[at].get(thread));
            for (&slot, naive) in self.slots.iter().zip(&self.naive_slots) {
                let time = match slot {
                    Slot::Stamp(stamp) => self.snapshots.time_in(stamp, thread),
                    Slot::Merged(id) => self.snapshots.get(id, thread),
                };
                assert_eq!(time, naive.get(thread));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn fast_clocks_match_naive_ones(
        first in 0_u32..3,
        gaps in prop::array::uniform5(1_u32..40),
        steps in prop::collection::vec(step(), 0..60),
    ) {
        let mut next = first;
        let mut pair = Pair::new(gaps.map(|gap| {
            next += gap;
            next - gap
        }));
        for step in steps {
            pair.apply(step);
            pair.check();
        }
        pair.apply(Step::ForgetAll);
    }

    #[test]
    fn vector_joins_are_maxima(mut a in prop::collection::vec(0_u32..4, 0..40), mut b in prop::collection::vec(0_u32..4, 0..40)) {
        for clock in [&mut a, &mut b] {
            while clock.last() == Some(&0) {
                clock.pop();
            }
        }
        let mut joined = VectorClock::new();
        prop_assert_eq!(joined.join(&a), !a.is_empty());
        let covered = joined.covers_all(&b);
        prop_assert_eq!(joined.join(&b), !covered);
        for thread in 0..41 {
            let at = |clock: &[u32]| clock.get(thread).copied().unwrap_or(0);
            prop_assert_eq!(joined.get(thread as u32), at(&a).max(at(&b)));
        }
        prop_assert!(joined.times().last() != Some(&0));
        prop_assert!(joined.covers_all(&a) && joined.covers_all(&b));
    }

    /// Every size is stored, read back, freed and reused, also beyond the length of a chunk.
    #[test]
    fn snapshots_keep_their_contents(sizes in prop::collection::vec((1_usize..200, 0_u32..3), 1..100), long in 0_usize..3) {
        let mut snapshots = Snapshots::new();
        let mut kept: Vec<(SnapshotId, Vec<u32>)> = Vec::new();
        let long_sizes = (0..long).map(|which| (40_000 << which, 0));
        for (number, (len, keep)) in sizes.into_iter().chain(long_sizes).enumerate() {
            let times: Vec<u32> = (0..len).map(|at| (at + number) as u32 % 7 + 1).collect();
            let id = snapshots.insert(&times);
            if keep == 0 {
                kept.push((id, times));
            } else {
                snapshots.retain(id);
                snapshots.release(id);
                snapshots.release(id);
            }
            if number % 5 == 4 && !kept.is_empty() {
                snapshots.release(kept.swap_remove(number % kept.len()).0);
            }
        }
        prop_assert_eq!(snapshots.live(), kept.len());
        for (id, times) in &kept {
            prop_assert_eq!(snapshots.times(*id), &times[..]);
        }
    }
}

#[test]
fn threads_that_share_knowledge_share_a_snapshot() {
    let mut snapshots = Snapshots::new();
    let mut parent = ThreadClock::new(0);
    let start = parent.publish(&mut snapshots);
    let mut child = ThreadClock::new(9_999);
    assert!(child.join(&snapshots, start));
    let first = child.publish(&mut snapshots);
    let second = child.publish(&mut snapshots);
    assert_eq!(first.snapshot, second.snapshot);
    assert_eq!(snapshots.times(first.snapshot), [1], "the child's own component takes no room");
    assert!(!child.join(&snapshots, start), "known already");
    assert_eq!(child.publish(&mut snapshots).snapshot, first.snapshot);
}

#[test]
fn freed_places_are_used_again() {
    let mut snapshots = Snapshots::new();
    let times: Vec<u32> = (1..=16).collect();
    let mut previous = snapshots.insert(&times);
    let bytes = snapshots.heap_bytes();
    for _ in 0..10_000 {
        let next = snapshots.insert(&times);
        snapshots.release(previous);
        previous = next;
    }
    assert_eq!(snapshots.live(), 1);
    assert!(snapshots.heap_bytes() <= bytes + 400, "{bytes} to {}", snapshots.heap_bytes());
}

#[test]
fn sparing_publications_stay_within_their_room_and_tell_the_own_time() {
    let mut snapshots = Snapshots::new();
    let mut teachers: Vec<ThreadClock> = (0..1_000).map(ThreadClock::new).collect();
    let mut clock = ThreadClock::new(1_000);
    let mut places = vec![Stamp::default(); 1_000];
    for (teacher, place) in teachers.iter_mut().zip(&mut places) {
        let stamp = teacher.publish(&mut snapshots);
        clock.join(&snapshots, stamp);
        clock.publish_sparingly_to(place, &mut snapshots, 1 << 16);
    }
    assert!(snapshots.heap_bytes() < 1 << 18, "{} bytes", snapshots.heap_bytes());
    let (short, long) = (places[10], places[999]);
    assert_eq!(snapshots.times(short.snapshot).len(), 11);
    assert_eq!(long.snapshot, SnapshotId::EMPTY);
    let mut reader = ThreadClock::new(1_001);
    assert!(reader.join(&snapshots, long));
    assert!(reader.covers(long.epoch) && !reader.covers(teachers[999].epoch()));
}

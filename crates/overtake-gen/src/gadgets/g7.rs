//! G7: realizability of a reads-from poset as one predictable race, in a trace with one lock and two critical sections.
//!
//! **Source.** Theorem 3.4 of *Optimal Prediction of Synchronization-Preserving Races*: a race whose witness swaps a single pair of critical sections is as hard to
//! find as any.
//!
//! **First step.** The orders of the poset become triplets of a write, a read that sees it, and an interfering write, each with a variable of its own. For an order
//! from event `a` to event `b`, thread `X` has the write, and the read after `a`; thread `Y` has the interfering write, before `b`. There
//! is one `X` and one `Y` for each two threads. If the interfering write comes first, `a` and `b` are free. If it comes after the write, it also comes after the read,
//! and `a` before `b`. One more triplet decides which: its interfering write comes before all others of the kind, and its read comes after the writes of all `X`. So the
//! events have a total order; they have one in which the triplet's write comes before its interfering write exactly if the poset is realizable.
//!
//! **Second step.** Each order between threads is a variable that one thread writes and the other reads. The triplet's interfering write is in a
//! section of a lock, with a write of `y` after it; the triplet's write is in another section of the lock, and its thread reads `y` after all threads
//! have ended. Both accesses to `y` are enabled together only if the first section has begun and has not ended, hence after the other one: exactly if the poset is realizable.
//! They are no happens-before race and no sync-preserving race in any case.
//!
//! **Differs from the paper.** There, `X` reads what it wrote for one order before it writes for the next one. So the read of the deciding triplet, which comes after the last
//! write of `X`, comes after the events before all other orders; and these may have to come after events that wait for the interfering write. With threads `a1 a2 a3` and
//! `b1 b2`, orders `a1 b1`, `b1 a2` and `b2 a3`, nothing prevents `a1 b1 a2 b2 a3`, yet the deciding triplet cannot be reversed ([`reads_from_poset_as_printed`]). There are `2k² - k + 2` threads for `k`, not `k² + 2`.
//! Here all writes of `X` come before its reads. Poset threads need not be triplets with an interfering write that is no section: threads without orders run one after the other.

use overtake_trace::EventIndex;

use crate::rng::Rng;

use super::poset::{Access, PosetEvent, ReadsFromPoset};
use super::writer::Writer;
use super::{Expected, Gadget, Notion, Races, Size};

/// The search for a total order visits at most about so many states.
const MOST_STATES: f64 = (1 << 25) as f64;

/// As many threads as a vector has coordinates; as many sections in each as there are vectors.
pub(super) fn random(size: &Size, rng: &mut Rng) -> Gadget {
    reads_from_poset_predictable(&ReadsFromPoset::random(size, rng)).0
}

/// How many sections each of so many threads may have.
pub(super) fn most_sections(threads: u64) -> u64 {
    (((MOST_STATES.powf(1.0 / threads as f64) - 1.0) / 2.0) as u64).min(10_000)
}

/// The gadget for a poset; and if that is realizable, a correct reordering after which both accesses to `y` are enabled.
pub fn reads_from_poset_predictable(poset: &ReadsFromPoset) -> (Gadget, Option<Vec<EventIndex>>) {
    build(poset, false)
}

/// The gadget as published, which has no race for some posets that are realizable.
pub fn reads_from_poset_as_printed(poset: &ReadsFromPoset) -> Gadget {
    build(poset, true).0
}

fn build(poset: &ReadsFromPoset, as_printed: bool) -> (Gadget, Option<Vec<EventIndex>>) {
    let mut reduction = Reduction::new(poset, as_printed);
    let (write, read) = reduction.write_trace();
    let linearization = poset.linearization();
    let schedule = linearization.as_ref().map(|order| reduction.reversed(order));
    let var = reduction.writer.var("y");
    let trace = reduction.writer.finish();
    let on_y = |notion, pairs: Vec<_>| {
        let races = Races::PairsOf(var, pairs.into_iter().collect());
        Expected { notion, races }
    };
    let mut expected = vec![on_y(Notion::HappensBefore, vec![]), on_y(Notion::SyncPreserving, vec![])];
    if !as_printed {
        expected.push(on_y(Notion::Predictable, linearization.map(|_| (write, read)).into_iter().collect()));
    }
    (Gadget { trace, expected }, schedule)
}

/// An operation of a thread of the trace, by names.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    Acquire,
    Release,
    Write(String),
    Read(String),
}

use Step::{Acquire, Read, Release, Write};

/// A thread of the trace.
#[derive(Default, Debug)]
struct Lane {
    name: String,
    steps: Vec<Step>,
    /// The event of each step.
    events: Vec<EventIndex>,
}

/// The triplets between two threads of the poset.
#[derive(Debug)]
struct Triplets {
    /// Positions in the two threads, in order.
    orders: Vec<(usize, usize)>,
    threads: (usize, usize),
    /// The thread with the writes and the reads, and the one with the interfering writes.
    lanes: (usize, usize),
}

struct Reduction<'a> {
    poset: &'a ReadsFromPoset,
    lanes: Vec<Lane>,
    triplets: Vec<Triplets>,
    writer: Writer,
}

/// The lane of the deciding triplet's interfering write, and that of its write and read.
const INTERFERING: usize = 0;
const DECIDING: usize = 1;
/// The first lane of the poset's own threads.
const OWN: usize = 2;

impl Reduction<'_> {
    fn new(poset: &ReadsFromPoset, as_printed: bool) -> Reduction<'_> {
        let threads = 0..poset.threads.len();
        let names = ["d'".to_owned(), "d".to_owned()].into_iter();
        let names = names.chain(threads.clone().map(|thread| format!("t{thread}")));
        let lanes: Vec<Lane> = names.map(|name| Lane { name, ..Lane::default() }).collect();
        let mut reduction = Reduction { poset, lanes, triplets: Vec::new(), writer: Writer::default() };
        for one in threads.clone() {
            for other in threads.clone().filter(|&other| other != one) {
                let orders = poset.orders_between(one, other);
                if !orders.is_empty() {
                    reduction.add_triplets(orders, (one, other), as_printed);
                }
            }
        }
        for thread in threads {
            reduction.lanes[OWN + thread].steps = reduction.own_steps(thread);
        }
        reduction.decide();
        reduction
    }

    /// The threads `X` and `Y` of the orders between two threads.
    fn add_triplets(&mut self, orders: Vec<(usize, usize)>, (one, other): (usize, usize), as_printed: bool) {
        let lane = self.lanes.len();
        let name = |at: usize| format!("{one}.{other}.{at}");
        let count = orders.len();
        let write = |at: usize| {
            let is_last = at + 1 == count;
            let ends = is_last.then(|| Write(format!("all.{one}.{other}"))); // the deciding read comes later
            [Write(format!("x{}", name(at)))].into_iter().chain(ends)
        };
        let read = |at: usize| [Read(format!("after{}", name(at))), Read(format!("x{}", name(at)))];
        let mut steps: Vec<Step> = Vec::new();
        if as_printed {
            (0..count).for_each(|at| steps.extend(write(at).chain(read(at))));
        } else {
            (0..count).for_each(|at| steps.extend(write(at)));
            (0..count).for_each(|at| steps.extend(read(at)));
        }
        self.lanes.push(Lane { name: format!("X{one}.{other}"), steps, events: Vec::new() });
        let mut steps = vec![Read(format!("begun.{one}.{other}"))];
        for at in 0..count {
            steps.extend([Write(format!("x{}", name(at))), Write(format!("before{}", name(at)))]);
        }
        self.lanes.push(Lane { name: format!("Y{one}.{other}"), steps, events: Vec::new() });
        self.triplets.push(Triplets { orders, threads: (one, other), lanes: (lane, lane + 1) });
    }

    /// The events of a thread of the poset, with what they wait for before them and who waits for them after them.
    fn own_steps(&self, thread: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for (position, access) in self.poset.threads[thread].iter().enumerate() {
            steps.extend(
                self.names(|(_, to)| to == (thread, position)).map(|name| Read(format!("before{name}"))),
            );
            let Access { variable, writes } = *access;
            let name = format!("v{variable}");
            steps.push(if writes { Write(name) } else { Read(name) });
            steps.extend(
                self.names(|(from, _)| from == (thread, position)).map(|name| Write(format!("after{name}"))),
            );
        }
        steps
    }

    /// The names of the orders for which this holds.
    fn names(&self, holds: impl Fn((PosetEvent, PosetEvent)) -> bool) -> impl Iterator<Item = String> {
        let mut names = Vec::new();
        for Triplets { orders, threads: (one, other), .. } in &self.triplets {
            for (at, &(first, second)) in orders.iter().enumerate() {
                if holds(((*one, first), (*other, second))) {
                    names.push(format!("{one}.{other}.{at}"));
                }
            }
        }
        names.into_iter()
    }

    /// The threads of the deciding triplet, and the last event of all others.
    fn decide(&mut self) {
        let between = |triplets: &Triplets| format!("{}.{}", triplets.threads.0, triplets.threads.1);
        let begun = self.triplets.iter().map(|triplets| Write(format!("begun.{}", between(triplets))));
        let interfering = [Acquire, Write("d".to_owned())].into_iter().chain(begun);
        self.lanes[INTERFERING].steps = interfering.chain([Write("y".to_owned()), Release]).collect();
        let all = self.triplets.iter().map(|triplets| Read(format!("all.{}", between(triplets))));
        let deciding = [Acquire, Write("d".to_owned()), Release].into_iter().chain(all);
        let mut deciding: Vec<_> = deciding.chain([Read("d".to_owned())]).collect();
        for lane in &mut self.lanes[OWN..] {
            lane.steps.push(Write(format!("end.{}", lane.name)));
            deciding.push(Read(format!("end.{}", lane.name)));
        }
        deciding.push(Read("y".to_owned()));
        self.lanes[DECIDING].steps = deciding;
    }

    /// Writes the trace, in which all interfering writes come first, and returns the accesses to `y`.
    fn write_trace(&mut self) -> (EventIndex, EventIndex) {
        let of_triplets = |lane: fn(&Triplets) -> usize| self.triplets.iter().map(lane).collect::<Vec<_>>();
        let (x, y) = (of_triplets(|triplets| triplets.lanes.0), of_triplets(|triplets| triplets.lanes.1));
        let own = OWN..OWN + self.poset.threads.len();
        for lane in [INTERFERING].into_iter().chain(y).chain(own).chain(x).chain([DECIDING]) {
            self.write_lane(lane);
        }
        let [.., write, _release] = self.lanes[INTERFERING].events[..] else { panic!("it has a section") };
        let [.., read] = self.lanes[DECIDING].events[..] else { panic!("it reads y") };
        (write, read)
    }

    fn write_lane(&mut self, lane: usize) {
        let Lane { name, steps, events } = &mut self.lanes[lane];
        events.extend(steps.iter().map(|step| match step {
            Acquire => self.writer.acquire(name, "l"),
            Release => self.writer.release(name, "l"),
            Write(variable) => self.writer.write(name, variable),
            Read(variable) => self.writer.read(name, variable),
        }));
    }

    /// The reordering in which the deciding triplet is reversed and the poset's events come in this order, up to the accesses to `y`.
    fn reversed(&self, order: &[PosetEvent]) -> Vec<EventIndex> {
        let mut schedule =
            Schedule { lanes: &self.lanes, done: vec![0; self.lanes.len()], events: Vec::new() };
        for triplets in &self.triplets {
            schedule.run_to(triplets.lanes.0, |step| step.reads("after"));
        }
        schedule.run_to(DECIDING, |step| step.reads("end."));
        schedule.run_to(INTERFERING, |step| *step == Write("y".to_owned()));
        for &event in order {
            self.run_event(event, &mut schedule);
        }
        for lane in OWN..self.lanes.len() {
            schedule.run_to(lane, |_| false);
        }
        schedule.run_to(DECIDING, |step| step.reads("y"));
        schedule.events
    }

    /// An event of the poset, after the interfering writes that it waits for and before the reads that wait for it.
    fn run_event(&self, event: PosetEvent, schedule: &mut Schedule<'_>) {
        for Triplets { orders, threads: (one, other), lanes: (_, y) } in &self.triplets {
            if let Some(at) = orders.iter().position(|&(_, second)| (*other, second) == event) {
                let next = Write(format!("x{one}.{other}.{}", at + 1));
                schedule.run_to(*y, |step| *step == next || step.writes("end."));
            }
        }
        let lane = OWN + event.0;
        schedule.run_to(lane, |step| !step.reads("before"));
        schedule.run_one(lane);
        schedule.run_to(lane, |step| !step.writes("after"));
        for Triplets { orders, threads: (one, other), lanes: (x, _) } in &self.triplets {
            if let Some(at) = orders.iter().position(|&(first, _)| (*one, first) == event) {
                let next = Read(format!("after{one}.{other}.{}", at + 1));
                schedule.run_to(*x, |step| *step == next || step.writes("end."));
            }
        }
    }
}

impl Step {
    fn reads(&self, prefix: &str) -> bool {
        matches!(self, Read(name) if name.starts_with(prefix))
    }

    fn writes(&self, prefix: &str) -> bool {
        matches!(self, Write(name) if name.starts_with(prefix))
    }
}

/// A reordering of the trace.
struct Schedule<'a> {
    lanes: &'a [Lane],
    /// How much of each lane is done.
    done: Vec<usize>,
    events: Vec<EventIndex>,
}

impl Schedule<'_> {
    fn run_one(&mut self, lane: usize) {
        self.events.push(self.lanes[lane].events[self.done[lane]]);
        self.done[lane] += 1;
    }

    /// Runs a thread up to a step, or to its end.
    fn run_to(&mut self, lane: usize, stops: impl Fn(&Step) -> bool) {
        while self.lanes[lane].steps.get(self.done[lane]).is_some_and(|step| !stops(step)) {
            self.run_one(lane);
        }
    }
}

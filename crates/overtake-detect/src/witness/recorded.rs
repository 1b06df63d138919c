//! Schedules of races that recordings predict.
//!
//! In a recording a schedule has to contain, with a read, every write that the read may have seen (`sources.rs`), earlier or
//! later in the trace. So the whole trace matters for every race, and it is held in memory. The closure is a worklist over
//! explicit dependencies. The trace is read twice: first to learn which variables race, then to keep it.

use overtake_trace::{
    Action, Block, Checker, EventIndex, EventSource, LockId, Result, SyncId, ThreadId, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::build::{Choice, not_there};
use super::{Schedule, Step};
use crate::findings::Findings;
use crate::hb::FastTrack;
use crate::race::Race;
use crate::read_sources::{Allocations, ReadSources};
use crate::run::{LiveBlocks, feed, visit};

/// The schedules of sync-preserving races that a recording predicts, from two readings of it.
///
/// If a pair is no such race, its schedule is one that [`verify_recorded`](super::verify_recorded) refuses. Holds the trace in
/// memory. Fails if a reading fails, or if the trace does not have the accesses.
pub fn build_recorded(
    first: &mut dyn EventSource,
    second: &mut dyn EventSource,
    races: &[Race],
) -> Result<Vec<Schedule>> {
    let (mut detector, mut log) = (FastTrack::default(), Findings::new());
    let mut blocks = LiveBlocks::new();
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    while first.next_block(&mut block)? {
        let checked = checker.check(&mut block, first.symbols_mut())?;
        feed(&mut detector, &mut blocks, &checked, &mut log);
    }
    let recording = Recording::read(second, log.racy_variables().into_iter().collect())?;
    races.iter().map(|race| recording.schedule(race)).collect()
}

/// Where an event is in the repaired trace.
type Place = usize;

/// A recording with what each event needs.
#[derive(Default)]
struct Recording {
    steps: Vec<Step>,
    needs: Vec<Vec<Place>>,
    /// Per lock, its acquires in trace order: whether they are shared, and the releases that end their sections.
    sections: FxHashMap<LockId, Vec<Section>>,
    allocations: Allocations,
}

#[derive(Clone, Copy)]
struct Section {
    acquire: Place,
    shared: bool,
    release: Option<Place>,
}

impl Recording {
    fn read(source: &mut dyn EventSource, racy: FxHashSet<VarId>) -> Result<Recording> {
        let mut recording = Recording::default();
        let mut reads = ReadSources::of_all_reads(racy);
        let mut threads = Dependencies::default();
        let mut blocks = LiveBlocks::new();
        let mut checker = Checker::repairing();
        let mut block = Block::default();
        while source.next_block(&mut block)? {
            let checked = checker.check(&mut block, source.symbols_mut())?;
            for run in checked.runs() {
                for (offset, &event) in run.events.iter().enumerate() {
                    let step = Step { index: EventIndex(run.first.0 + offset as u64), event };
                    recording.add(step, &mut threads);
                }
            }
            visit(&mut reads, &mut blocks, &checked);
        }
        for (place, seen) in &reads.single {
            recording.needs[*place].push(*seen);
        }
        for (read, writes) in reads.sources.of_reads() {
            recording.needs[read.place].extend(writes.iter().map(|write| write.place));
        }
        recording.allocations = reads.allocations;
        Ok(recording)
    }

    fn add(&mut self, step: Step, threads: &mut Dependencies) {
        let place = self.steps.len();
        let thread = step.event.thread();
        let mut needs = threads.of_thread(thread);
        match step.event.action() {
            Action::Fork(child) => threads.forks.entry(child).or_default().push(place),
            Action::Join(child) => needs.extend(threads.of_thread(child)),
            Action::Post(object) => threads.posts.entry(object).or_default().push(place),
            Action::Wait(object) => needs.extend(threads.posts.get(&object).into_iter().flatten()),
            Action::Acquire(lock) => self.begin(lock, place, false),
            Action::AcquireShared(lock) => self.begin(lock, place, true),
            Action::Release(lock) | Action::ReleaseShared(lock) => self.end(lock, place, thread),
            _ => {}
        }
        threads.last.insert(thread, place);
        self.needs.push(needs);
        self.steps.push(step);
    }

    fn begin(&mut self, lock: LockId, acquire: Place, shared: bool) {
        self.sections.entry(lock).or_default().push(Section { acquire, shared, release: None });
    }

    fn end(&mut self, lock: LockId, release: Place, thread: ThreadId) {
        let steps = &self.steps;
        let sections = self.sections.entry(lock).or_default().iter_mut().rev();
        let mut open = sections.filter(|section| section.release.is_none());
        if let Some(section) = open.find(|section| steps[section.acquire].event.thread() == thread) {
            section.release = Some(release);
        }
    }

    fn schedule(&self, race: &Race) -> Result<Schedule> {
        let [first, second] = [race.first.at, race.second.at].map(|at| self.access_at(at.index));
        let (Some(first), Some(second)) = (first, second) else { return Err(not_there(race)) };
        let allocation = self.allocations.of(race.var).filter(|&place| place < first);
        let before = self.before(first).into_iter().chain(self.before(second)).chain(allocation);
        let inside = self.closure(before.collect());
        let mut choice = Choice::default();
        for (place, &step) in self.steps.iter().enumerate() {
            choice.add(step, inside[place] && place != first && place != second, race);
        }
        choice.into_schedule(race)
    }

    /// Inserted events have the index of the event behind them.
    fn access_at(&self, index: EventIndex) -> Option<Place> {
        let behind = self.steps.partition_point(|step| step.index <= index);
        behind.checked_sub(1).filter(|&place| self.steps[place].index == index)
    }

    /// What directly precedes an access.
    fn before(&self, place: Place) -> Vec<Place> {
        let thread = self.steps[place].event.thread();
        let is_before = |&&other: &&Place| {
            let event = self.steps[other].event;
            event.thread() == thread || event.action() == Action::Fork(thread)
        };
        self.needs[place].iter().filter(is_before).filter(|&&other| other < place).copied().collect()
    }

    fn closure(&self, mut pending: Vec<Place>) -> Vec<bool> {
        let mut inside = vec![false; self.steps.len()];
        loop {
            while let Some(place) = pending.pop() {
                if !std::mem::replace(&mut inside[place], true) {
                    pending.extend(&self.needs[place]);
                }
            }
            for sections in self.sections.values() {
                pending.extend(missing_ends(sections, &inside));
            }
            if pending.is_empty() {
                return inside;
            }
        }
    }
}

/// Ends of sections of a lock that later ones inside need.
fn missing_ends(sections: &[Section], inside: &[bool]) -> Vec<Place> {
    let [mut any_later, mut exclusive_later] = [false; 2];
    let mut missing = Vec::new();
    for section in sections.iter().rev().filter(|section| inside[section.acquire]) {
        let is_over = if section.shared { exclusive_later } else { any_later };
        missing.extend(section.release.filter(|&release| is_over && !inside[release]));
        any_later = true;
        exclusive_later |= !section.shared;
    }
    missing
}

/// What events of threads and waits need.
#[derive(Default)]
struct Dependencies {
    last: FxHashMap<ThreadId, Place>,
    forks: FxHashMap<ThreadId, Vec<Place>>,
    posts: FxHashMap<SyncId, Vec<Place>>,
}

impl Dependencies {
    /// The last event of a thread, and its forks.
    fn of_thread(&self, thread: ThreadId) -> Vec<Place> {
        let forks = self.forks.get(&thread).into_iter().flatten();
        self.last.get(&thread).into_iter().chain(forks).copied().collect()
    }
}

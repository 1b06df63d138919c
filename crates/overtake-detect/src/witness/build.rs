//! Building the schedule of a race from the trace.
//!
//! The first reading keeps the closed clocks of all threads as the detector does, up to the last second access, and computes
//! for each race the closure of what precedes the two. The second reading keeps the clocks again and takes the events that are
//! inside. Clocks do not depend on the race, so that many races cost as many readings as one. Memory holds the clocks and the
//! schedules, not the trace. Of a pair that is no sync-preserving race, nothing is taken: its closure contains the first access.

use overtake_clock::{Epoch, Time};
use overtake_trace::{
    Action, Block, Checked, Checker, Error, ErrorKind, EventIndex, EventSource, Id, IdVec, LockId,
    MemoryOrder, Position, Result, Sizes, SyncId, ThreadId, VarId,
};
use rustc_hash::FxHashMap;

use super::{Overtaken, Schedule, Step};
use crate::access::{AccessKind, At};
use crate::detector::LockMode;
use crate::race::Race;
use crate::run::{LiveBlocks, visit};
use crate::syncp::{Clocks, Learned};
use crate::visitor::{Touch, Visitor};

/// The schedules of sync-preserving races, from two readings of the trace that they are of, however many races there are.
///
/// If a pair is no sync-preserving race, its schedule is one that [`verify`](super::verify) refuses. Fails if a reading fails,
/// or if the trace does not have the accesses.
pub fn build(
    first: &mut dyn EventSource,
    second: &mut dyn EventSource,
    races: &[Race],
) -> Result<Vec<Schedule>> {
    let mut closing = Tracker::new(races);
    read_to_last(first, races, |checked| closing.take(checked))?;
    let mut choosing = Tracker::new(races);
    for ((race, tracked), closed) in races.iter().zip(&mut choosing.tracked).zip(closing.tracked) {
        let is_race = closed.leaves_out_the_first();
        tracked.closure = Some(closed.closure.ok_or_else(|| not_there(race))?).filter(|_| is_race);
    }
    let mut choices: Vec<_> = races.iter().map(|_| Choice::default()).collect();
    let any_race = choosing.tracked.iter().any(|tracked| tracked.closure.is_some());
    read_to_last(second, races, |checked| {
        if any_race {
            choosing.take(checked);
        }
        for (at, (choice, race)) in choices.iter_mut().zip(races).enumerate() {
            if choosing.tracked[at].closure.is_none() {
                choice.take_accesses(checked, race);
                continue;
            }
            let inside = choosing.inside.iter().skip(at).step_by(races.len());
            choice.take(checked, inside.copied(), race);
        }
    })?;
    choices.into_iter().zip(races).map(|(choice, race)| choice.into_schedule(race)).collect()
}

/// Hands out checked blocks up to the one with the last second access.
fn read_to_last(
    source: &mut dyn EventSource,
    races: &[Race],
    mut take: impl FnMut(&Checked<'_>),
) -> Result<()> {
    let Some(last) = races.iter().map(|race| race.second.at.index.0).max() else { return Ok(()) };
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        let end = block.first.0 + block.events.len() as u64;
        take(&checker.check(&mut block, source.symbols_mut())?);
        if end > last {
            break;
        }
    }
    Ok(())
}

pub(super) fn not_there(race: &Race) -> Error {
    let (first, second) = (race.first.at.index, race.second.at.index);
    let message = format!("expected accesses at events {first} and {second}, found none in the trace");
    Error::new(ErrorKind::IllFormed, Position::Event(second), message)
}

/// Keeps the closed clocks up to the last second access.
struct Tracker<'a> {
    races: &'a [Race],
    /// What is known of each race.
    tracked: Vec<Tracked>,
    /// The accesses of races, in trace order, and how many of them are over: index, race, whether it is the second.
    accesses: Vec<(EventIndex, usize, bool)>,
    passed: usize,
    clocks: Clocks,
    last_writes: IdVec<VarId, Epoch>,
    /// Per event of the block and race, whether the event is inside the closure, if there was one at the start.
    inside: Vec<bool>,
    blocks: LiveBlocks,
    /// The last second access is over.
    over: bool,
}

#[derive(Default)]
struct Tracked {
    /// The clock before the first access.
    first: Option<(Epoch, Learned)>,
    /// Per thread, the time up to which it is inside.
    closure: Option<Vec<Time>>,
}

impl<'a> Tracker<'a> {
    fn new(races: &'a [Race]) -> Tracker<'a> {
        let mut accesses: Vec<_> = races
            .iter()
            .enumerate()
            .flat_map(|(at, race)| [(race.first.at.index, at, false), (race.second.at.index, at, true)])
            .collect();
        accesses.sort_unstable();
        Tracker {
            races,
            tracked: races.iter().map(|_| Tracked::default()).collect(),
            accesses,
            passed: 0,
            clocks: Clocks::default(),
            last_writes: IdVec::new(),
            inside: Vec::new(),
            blocks: LiveBlocks::new(),
            over: false,
        }
    }

    fn take(&mut self, checked: &Checked<'_>) {
        self.inside.clear();
        let mut blocks = std::mem::take(&mut self.blocks);
        visit(self, &mut blocks, checked);
        self.blocks = blocks;
    }

    /// Begins an event that is no access. Returns whether clocks still matter.
    fn begin(&mut self, at: At) -> bool {
        // A repair can insert one before an access, under its index.
        self.begin_before(at, at.index)
    }

    /// Begins an event that comes before every access of its thread at `after` or later. Returns whether clocks still matter.
    fn begin_before(&mut self, at: At, after: EventIndex) -> bool {
        self.over |= self.accesses.last().is_none_or(|(last, ..)| at.index > *last);
        if self.over {
            self.inside.extend(self.races.iter().map(|_| false));
            return false;
        }
        for (race, tracked) in self.races.iter().zip(&self.tracked) {
            self.inside.push(tracked.is_inside(at, after, race, self.clocks.epoch(at.thread).time));
        }
        true
    }

    /// Takes note of the races whose access this is. It needs `block` to be allocated.
    fn meet(&mut self, at: At, block: Option<VarId>) {
        while let Some(&(index, race, is_second)) = self.accesses.get(self.passed)
            && index <= at.index
        {
            self.passed += 1;
            if index == at.index {
                self.note_access(at.thread, block, race, is_second);
            }
        }
    }

    fn note_access(&mut self, thread: ThreadId, block: Option<VarId>, race: usize, is_second: bool) {
        let tracked = &mut self.tracked[race];
        match (is_second, tracked.first, &tracked.closure) {
            (false, _, _) => {
                let needed = self.clocks.learned_with(thread, block);
                tracked.first = Some((self.clocks.epoch(thread), needed));
            }
            (true, Some((epoch, learned)), None) => {
                tracked.closure = Some(self.clocks.closure(thread, epoch, learned));
            }
            (true, _, _) => {}
        }
    }
}

impl Tracked {
    /// Whether the closure does not contain the first access.
    fn leaves_out_the_first(&self) -> bool {
        let Some((first, _)) = self.first else { return false };
        let inside = self.closure.as_ref().and_then(|closure| closure.get(first.thread as usize));
        inside.is_none_or(|&inside| inside < first.time)
    }

    /// Whether an event that begins at `time` of its thread is inside the closure, or precedes one of the accesses in its
    /// thread: those at `after` or later.
    fn is_inside(&self, at: At, after: EventIndex, race: &Race, time: Time) -> bool {
        let Some(closure) = &self.closure else { return false };
        let precedes = |access: At| at.thread == access.thread && after <= access.index;
        let inside = closure.get(at.thread.index()).copied().unwrap_or(0);
        at.index <= race.second.at.index
            && (time <= inside || precedes(race.first.at) || precedes(race.second.at))
    }
}

impl Visitor for Tracker<'_> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.last_writes.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>) {
        if !self.begin_before(at, EventIndex(at.index.0 + 1)) {
            return;
        }
        self.meet(at, touch.block_in_use());
        let seen = if touch.kind.reads() { Some(touch.var) } else { None };
        for var in [seen, touch.block].into_iter().flatten() {
            self.clocks.learn(at.thread, self.last_writes[var]);
        }
        if touch.kind.writes() {
            let epoch = self.clocks.publish(at.thread);
            self.last_writes[touch.var] = epoch;
            if touch.kind == AccessKind::Alloc {
                self.clocks.allocate(touch.var, epoch);
            }
        }
    }

    fn fence(&mut self, at: At, _: MemoryOrder) {
        self.begin(at);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        if self.begin(at) {
            self.clocks.acquire(at.thread, lock, mode);
        }
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode) {
        if self.begin(at) {
            self.clocks.release(at.thread, lock);
        }
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        if self.begin(at) {
            self.clocks.fork(at.thread, child);
        }
    }

    fn join(&mut self, at: At, child: ThreadId) {
        if self.begin(at) {
            self.clocks.join(at.thread, child);
        }
    }

    fn post(&mut self, at: At, object: SyncId) {
        if self.begin(at) {
            self.clocks.post(at.thread, object);
        }
    }

    fn wait(&mut self, at: At, object: SyncId) {
        if self.begin(at) {
            self.clocks.wait(at.thread, object);
        }
    }

    fn other(&mut self, at: At) {
        self.begin(at);
    }
}

/// The events chosen so far.
#[derive(Default)]
pub(super) struct Choice {
    steps: Vec<Step>,
    first: Option<Step>,
    second: Option<Step>,
    left_out: FxHashMap<LockId, LeftOut>,
    overtaken: FxHashMap<LockId, Overtaken>,
}

/// The latest sections of a lock that are left out: of any mode, and exclusive.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    any: Option<LeftOutSection>,
    exclusive: Option<LeftOutSection>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct LeftOutSection {
    acquire: Step,
    release: Option<Step>,
}

impl Choice {
    fn take(&mut self, checked: &Checked<'_>, mut inside: impl Iterator<Item = bool>, race: &Race) {
        for run in checked.runs() {
            for (offset, &event) in run.events.iter().enumerate() {
                let step = Step { index: EventIndex(run.first.0 + offset as u64), event };
                self.add(step, inside.next().unwrap_or(false), race);
            }
        }
    }

    /// Takes the two accesses only.
    fn take_accesses(&mut self, checked: &Checked<'_>, race: &Race) {
        let accesses = [race.first.at.index, race.second.at.index];
        for run in checked.runs() {
            for index in accesses {
                let offset = index.0.checked_sub(run.first.0);
                if let Some(&event) = offset.and_then(|offset| run.events.get(offset as usize)) {
                    self.note_access(Step { index, event }, race);
                }
            }
        }
    }

    fn note_access(&mut self, step: Step, race: &Race) {
        if step.index == race.first.at.index {
            self.first = Some(step);
        }
        if step.index == race.second.at.index {
            self.second = Some(step);
        }
    }

    /// Takes the next event of the trace.
    pub(super) fn add(&mut self, step: Step, is_inside: bool, race: &Race) {
        self.note_access(step, race);
        if step.index < race.second.at.index {
            self.note_lock(step, is_inside);
        }
        if is_inside {
            self.steps.push(step);
        }
    }

    fn note_lock(&mut self, step: Step, is_inside: bool) {
        match step.event.action() {
            Action::Acquire(lock) => self.note_acquire(lock, true, step, is_inside),
            Action::AcquireShared(lock) => self.note_acquire(lock, false, step, is_inside),
            Action::Release(lock) | Action::ReleaseShared(lock) if !is_inside => {
                self.note_release(lock, step)
            }
            _ => {}
        }
    }

    fn note_acquire(&mut self, lock: LockId, is_exclusive: bool, step: Step, is_inside: bool) {
        let left_out = self.left_out.entry(lock).or_default();
        if !is_inside {
            let section = LeftOutSection { acquire: step, release: None };
            left_out.any = Some(section);
            if is_exclusive {
                left_out.exclusive = Some(section);
            }
            return;
        }
        let earlier = if is_exclusive { left_out.any } else { left_out.exclusive };
        if let Some(LeftOutSection { acquire, release }) = earlier
            && self.overtaken.get(&lock).is_none_or(|known| known.left_out != acquire)
        {
            let overtaken = Overtaken { lock, left_out: acquire, left_out_end: release, by: step };
            self.overtaken.insert(lock, overtaken);
        }
    }

    fn note_release(&mut self, lock: LockId, step: Step) {
        let Some(left_out) = self.left_out.get_mut(&lock) else { return };
        for section in [&mut left_out.any, &mut left_out.exclusive].into_iter().flatten() {
            if section.release.is_none() && section.acquire.event.thread() == step.event.thread() {
                section.release = Some(step);
            }
        }
    }

    pub(super) fn into_schedule(self, race: &Race) -> Result<Schedule> {
        let (Some(first), Some(second)) = (self.first, self.second) else { return Err(not_there(race)) };
        let mut overtaken: Vec<_> = self.overtaken.into_values().collect();
        overtaken.sort_unstable_by_key(|overtaken| overtaken.by.index);
        Ok(Schedule { race: *race, steps: self.steps, first, second, overtaken })
    }
}

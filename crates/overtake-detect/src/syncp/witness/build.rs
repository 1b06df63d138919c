//! Building the schedule of a race from the trace.
//!
//! The first reading keeps the closed clocks of all threads as the detector does, up to the second access, and computes
//! the closure of what precedes the two. The second reading keeps the clocks again and takes the events that are inside.
//! Memory holds the clocks and the schedule, not the trace.

use overtake_clock::{Epoch, SnapshotId, Stamp, Time};
use overtake_trace::{
    Action, Block, Checked, Checker, Error, ErrorKind, EventIndex, EventSource, Id, IdVec, LockId,
    MemoryOrder, Position, Result, Sizes, SyncId, ThreadId, VarId,
};
use rustc_hash::FxHashMap;

use super::super::clocks::Clocks;
use super::super::event::{Effects, OpenEvent};
use super::{Overtaken, Schedule, Step};
use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::race::{Race, RaceLog};
use crate::run::{LiveBlocks, feed};

/// The schedule of a sync-preserving race, from two readings of the trace that it is of.
///
/// If the pair is no sync-preserving race, the result is a schedule that [`verify`](super::verify) refuses. Fails if a
/// reading fails, or if the trace does not have the two accesses.
pub fn build(first: &mut dyn EventSource, second: &mut dyn EventSource, race: &Race) -> Result<Schedule> {
    let mut closing = Tracker::new(race);
    read_to_second(first, race, |checked| closing.take(checked))?;
    let Some(closure) = closing.closure else { return Err(not_there(race)) };
    let mut choosing = Tracker::new(race);
    choosing.closure = Some(closure);
    let mut choice = Choice::default();
    read_to_second(second, race, |checked| {
        choosing.take(checked);
        choice.take(checked, &choosing.inside, race);
    })?;
    choice.into_schedule(race)
}

/// Hands out checked blocks up to the one with the second access.
fn read_to_second(
    source: &mut dyn EventSource,
    race: &Race,
    mut take: impl FnMut(&Checked<'_>),
) -> Result<()> {
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        let end = block.first.0 + block.events.len() as u64;
        take(&checker.check(&mut block, source.symbols_mut())?);
        if end > race.second.at.index.0 {
            break;
        }
    }
    Ok(())
}

fn not_there(race: &Race) -> Error {
    let (first, second) = (race.first.at.index, race.second.at.index);
    let message = format!("expected accesses at events {first} and {second}, found none in the trace");
    Error::new(ErrorKind::IllFormed, Position::Event(second), message)
}

/// Keeps the closed clocks up to the second access.
struct Tracker<'a> {
    race: &'a Race,
    clocks: Clocks,
    last_writes: IdVec<VarId, Stamp>,
    event: OpenEvent,
    /// The clock before the first access.
    first: Option<(Epoch, SnapshotId)>,
    /// Per thread, the time up to which it is inside.
    closure: Option<Vec<Time>>,
    /// Per event of the block, whether it is inside the closure, if there was one at the start.
    inside: Vec<bool>,
    blocks: LiveBlocks,
    /// The second access is over.
    over: bool,
}

impl<'a> Tracker<'a> {
    fn new(race: &'a Race) -> Tracker<'a> {
        Tracker {
            race,
            clocks: Clocks::default(),
            last_writes: IdVec::new(),
            event: OpenEvent::default(),
            first: None,
            closure: None,
            inside: Vec::new(),
            blocks: LiveBlocks::new(),
            over: false,
        }
    }

    fn take(&mut self, checked: &Checked<'_>) {
        self.inside.clear();
        let mut blocks = std::mem::take(&mut self.blocks);
        feed(self, &mut blocks, checked, &mut RaceLog::new());
        self.blocks = blocks;
    }

    /// Begins an event: the one before is over. Returns whether clocks still matter.
    fn begin(&mut self, at: At) -> bool {
        self.over |= at.index > self.race.second.at.index;
        if self.over {
            self.inside.push(false);
            return false;
        }
        if let Some(Effects { thread, seen, written }) = self.event.end() {
            for stamp in seen.into_iter().filter(|stamp| stamp.epoch.is_some()) {
                self.clocks.learn(thread, stamp);
            }
            if let Some(var) = written {
                self.last_writes[var] = self.clocks.publish(thread);
            }
        }
        self.inside.push(self.is_inside(at));
        true
    }

    /// Whether the event that begins is inside the closure, or precedes one of the accesses in its thread.
    fn is_inside(&self, at: At) -> bool {
        let Some(closure) = &self.closure else { return false };
        let precedes = |access: At| at.thread == access.thread && at.index < access.index;
        let inside = closure.get(at.thread.index()).copied().unwrap_or(0);
        self.clocks.epoch(at.thread).time <= inside
            || precedes(self.race.first.at)
            || precedes(self.race.second.at)
    }

    fn access(&mut self, at: At, var: VarId, kind: AccessKind) {
        if self.event.continues(at) {
            self.event.touch(var, kind, self.last_writes[var]);
            return;
        }
        if !self.over && self.begin(at) {
            self.begin_access(at);
            self.event.touch(var, kind, self.last_writes[var]);
        }
    }

    fn begin_access(&mut self, at: At) {
        self.event.begin(at);
        let Race { first, second, .. } = self.race;
        if at.index == first.at.index {
            self.first = Some((self.clocks.epoch(at.thread), self.clocks.learned(at.thread)));
        }
        if at.index == second.at.index
            && let (Some((epoch, learned)), None) = (self.first, &self.closure)
        {
            self.closure = Some(self.clocks.closure(at.thread, epoch, learned));
        }
    }
}

impl Detector for Tracker<'_> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.last_writes.grow_to(sizes.variables);
    }

    fn read(&mut self, at: At, var: VarId, _: &mut RaceLog) {
        self.access(at, var, AccessKind::Read);
    }

    fn write(&mut self, at: At, var: VarId, kind: AccessKind, _: &mut RaceLog) {
        self.access(at, var, kind);
    }

    fn atomic(&mut self, at: At, var: VarId, kind: AccessKind, _: MemoryOrder, _: &mut RaceLog) {
        self.access(at, var, kind);
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

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes()
    }
}

/// The events chosen so far.
#[derive(Default)]
struct Choice {
    steps: Vec<Step>,
    first: Option<Step>,
    second: Option<Step>,
    left_out: FxHashMap<LockId, LeftOut>,
    overtaken: FxHashMap<LockId, Overtaken>,
}

/// The latest acquires of a lock that are left out: of any mode, and exclusive.
#[derive(Clone, Copy, Default)]
struct LeftOut {
    any: Option<Step>,
    exclusive: Option<Step>,
}

impl Choice {
    fn take(&mut self, checked: &Checked<'_>, inside: &[bool], race: &Race) {
        let mut inside = inside.iter();
        for run in checked.runs() {
            for (offset, &event) in run.events.iter().enumerate() {
                let step = Step { index: EventIndex(run.first.0 + offset as u64), event };
                let is_inside = inside.next().copied().unwrap_or(false);
                if step.index == race.first.at.index {
                    self.first = Some(step);
                }
                if step.index == race.second.at.index {
                    self.second = Some(step);
                }
                if step.index < race.second.at.index {
                    self.note_lock(step, is_inside);
                }
                if is_inside {
                    self.steps.push(step);
                }
            }
        }
    }

    fn note_lock(&mut self, step: Step, is_inside: bool) {
        let (lock, is_exclusive) = match step.event.action() {
            Action::Acquire(lock) => (lock, true),
            Action::AcquireShared(lock) => (lock, false),
            _ => return,
        };
        let left_out = self.left_out.entry(lock).or_default();
        if !is_inside {
            left_out.any = Some(step);
            if is_exclusive {
                left_out.exclusive = Some(step);
            }
            return;
        }
        let earlier = if is_exclusive { left_out.any } else { left_out.exclusive };
        if let Some(earlier) = earlier
            && self.overtaken.get(&lock).is_none_or(|known| known.left_out != earlier)
        {
            self.overtaken.insert(lock, Overtaken { lock, left_out: earlier, by: step });
        }
    }

    fn into_schedule(self, race: &Race) -> Result<Schedule> {
        let (Some(first), Some(second)) = (self.first, self.second) else { return Err(not_there(race)) };
        let mut overtaken: Vec<_> = self.overtaken.into_values().collect();
        overtaken.sort_unstable_by_key(|overtaken| overtaken.by.index);
        Ok(Schedule { race: *race, steps: self.steps, first, second, overtaken })
    }
}

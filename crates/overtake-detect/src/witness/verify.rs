//! Replaying a schedule against the definition.
//!
//! Written from the definition alone, with the shared rules ([`overtake_rules`]): it holds the trace up to the last event that is used,
//! with what each event needs, and replays the schedule event by event. It does not assume that the schedule is in trace order, nor
//! anything else about how it was made.

use overtake_rules::{Claim, Holders, LockMode};
use overtake_trace::{
    Action, Block, Checker, Event, EventIndex, EventSource, LockId, Op, Result, Symbols, SyncId, ThreadId,
    VarId, Variable,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::seen::Recorded;
use super::{DeadlockSchedule, Schedule, Step, Violation};
use crate::access::AccessKind;

/// What a schedule may do with the order of critical sections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockOrder {
    /// Acquires of one lock, unless both are shared, and atomic accesses to one variable keep the order of the trace.
    Kept,
    /// They may come in any order in which sections exclude each other.
    Any,
}

/// Checks that each schedule is a correct reordering of the trace after which both accesses of its race are enabled, that
/// it treats locks as `order` says, and that the accesses conflict.
///
/// The outer result is about reading the trace, the inner ones about the schedules, in their order. Holds the trace up to
/// the last event of a schedule in memory.
pub fn verify(
    source: &mut dyn EventSource,
    schedules: &[Schedule],
    order: LockOrder,
) -> Result<Vec<std::result::Result<(), Violation>>> {
    let Some(last) = schedules.iter().flat_map(Schedule::events).map(|step| step.index).max() else {
        return Ok(Vec::new());
    };
    let trace = Original::read(source, last, None)?;
    Ok(schedules.iter().map(|schedule| Replay::new(&trace, order).run(schedule)).collect())
}

/// Checks that each schedule is a sync-preserving correct reordering of the trace after which every thread of its deadlock is
/// about to acquire a lock that the next one holds.
pub fn verify_deadlocks(
    source: &mut dyn EventSource,
    schedules: &[DeadlockSchedule],
) -> Result<Vec<std::result::Result<(), Violation>>> {
    let events = schedules.iter().flat_map(|schedule| schedule.steps.iter().chain(&schedule.waiting));
    let Some(last) = events.map(|step| step.index).max() else { return Ok(Vec::new()) };
    let trace = Original::read(source, last, None)?;
    let replay = |schedule| Replay::new(&trace, LockOrder::Kept).run_into_deadlock(schedule);
    Ok(schedules.iter().map(replay).collect())
}

/// As [`verify`], for a recording: a schedule also has to have every write that one of its reads may have seen. If locks need not keep
/// their order, it must be known what its reads saw. Holds the trace in memory.
pub fn verify_recorded(
    source: &mut dyn EventSource,
    schedules: &[Schedule],
    order: LockOrder,
) -> Result<Vec<std::result::Result<(), Violation>>> {
    if schedules.is_empty() {
        return Ok(Vec::new());
    }
    let trace = Original::read(source, EventIndex(u64::MAX), Some(Recorded::default()))?;
    Ok(schedules.iter().map(|schedule| Replay::new(&trace, order).run(schedule)).collect())
}

/// Where an event is in the repaired trace.
type Place = usize;

/// What is wrong with a step.
type Verdict = std::result::Result<(), String>;

/// The repaired trace up to the last event of a schedule, with what each event depends on.
#[derive(Default)]
struct Original {
    events: Vec<Step>,
    /// Per event, the one before it in its thread.
    previous: Vec<Option<Place>>,
    /// What events touch, in trace order, and per event where its touches begin.
    touches: Vec<Touch>,
    first_touch: Vec<usize>,
    forks_of: FxHashMap<ThreadId, Vec<Place>>,
    events_of: FxHashMap<ThreadId, Vec<Place>>,
    posts_of: FxHashMap<SyncId, Vec<Place>>,
    /// Where blocks are allocated, those of which it is known that they are.
    allocations: FxHashMap<VarId, Option<Place>>,
    /// What reads may have seen, if that is not known.
    recorded: Option<Recorded>,
}

/// A variable that an event touches, with the write that it sees if it reads.
#[derive(Clone, Copy)]
struct Touch {
    var: VarId,
    kind: AccessKind,
    sees: Option<Place>,
}

impl Original {
    fn read(source: &mut dyn EventSource, last: EventIndex, recorded: Option<Recorded>) -> Result<Original> {
        let mut original = Original { recorded, ..Original::default() };
        let mut last_writes = FxHashMap::default();
        let mut checker = Checker::repairing();
        let mut block = Block::default();
        while source.next_block(&mut block)? {
            let checked = checker.check(&mut block, source.symbols_mut())?;
            for run in checked.runs() {
                for (offset, &event) in run.events.iter().enumerate() {
                    let index = EventIndex(run.first.0 + offset as u64);
                    if index > last {
                        return Ok(original);
                    }
                    original.add_touches(&event, checked.symbols(), &mut last_writes);
                    original.add(Step { index, event });
                }
            }
        }
        Ok(original)
    }

    /// The operand of an access and, if it is an element of an allocated block, the block.
    fn add_touches(&mut self, event: &Event, symbols: &Symbols, last_writes: &mut FxHashMap<VarId, Place>) {
        self.first_touch.push(self.touches.len());
        if let Some(recorded) = &mut self.recorded {
            recorded.add(event, &symbols.sizes());
        }
        let place = self.events.len();
        let (var, kind) = match event.action() {
            Action::Read(var) => (var, AccessKind::Read),
            Action::Write(var) => (var, AccessKind::Write),
            Action::Load(var, _) => (var, AccessKind::Load),
            Action::Store(var, _) => (var, AccessKind::Store),
            Action::Rmw(var, _) => (var, AccessKind::Rmw),
            Action::Free(block) => {
                self.allocations.entry(block).or_insert(None); // after a gap, the allocation may be lost
                (block, AccessKind::Free)
            }
            Action::Alloc(block) => {
                self.allocations.insert(block, Some(place));
                (block, AccessKind::Alloc)
            }
            _ => return,
        };
        let block = match symbols.variables.get(var) {
            Variable::Element { array, .. } => symbols.variables.array_facts(array).block,
            Variable::Named(_) | Variable::Block(_) => None,
        };
        let block = block.filter(|block| self.allocations.contains_key(block));
        for (var, kind) in [(var, kind)].into_iter().chain(block.map(|block| (block, AccessKind::Read))) {
            let sees = if kind.reads() { last_writes.get(&var).copied() } else { None };
            self.touches.push(Touch { var, kind, sees });
            if kind.writes() {
                last_writes.insert(var, place);
                if let Some(recorded) = &mut self.recorded {
                    recorded.add_write(var, kind.is_atomic());
                }
            }
        }
    }

    fn add(&mut self, step: Step) {
        let place = self.events.len();
        match step.event.action() {
            Action::Fork(child) => self.forks_of.entry(child).or_default().push(place),
            Action::Post(object) => self.posts_of.entry(object).or_default().push(place),
            _ => {}
        }
        let thread = self.events_of.entry(step.event.thread()).or_default();
        self.previous.push(thread.last().copied());
        thread.push(place);
        self.events.push(step);
    }

    fn touches(&self, place: Place) -> &[Touch] {
        let end = self.first_touch.get(place + 1).copied().unwrap_or(self.touches.len());
        &self.touches[self.first_touch[place]..end]
    }

    fn find(&self, step: &Step) -> std::result::Result<Place, String> {
        // Where nothing was mended, an event is where its index says.
        let place = step.index.0 as usize;
        if self.events.get(place) == Some(step) {
            return Ok(place);
        }
        let start = self.events.partition_point(|known| known.index < step.index);
        let same_index = self.events[start..].iter().take_while(|known| known.index == step.index);
        let found = same_index.enumerate().find(|(_, known)| *known == step);
        found
            .map(|(offset, _)| start + offset)
            .ok_or_else(|| format!("event {} is not in the trace", step.index))
    }
}

/// How a lock is held in the schedule, and how far its acquires have come in trace order.
#[derive(Default)]
struct LockState {
    holders: Holders<Vec<Claim<ThreadId>>>,
    latest_exclusive: Option<Place>,
    latest: Option<Place>,
}

impl LockState {
    /// Sections do not overlap unless both are shared; acquires come in trace order unless both are shared or
    /// any order will do.
    fn acquire(
        &mut self,
        place: Place,
        thread: ThreadId,
        mode: LockMode,
        order: LockOrder,
    ) -> std::result::Result<(), &'static str> {
        if !self.holders.is_free_for(mode) {
            return Err(match mode {
                LockMode::Exclusive => "acquires a lock that is held",
                LockMode::Shared => "acquires a lock that is held exclusively",
            });
        }
        let before = if mode.is_exclusive() { self.latest } else { self.latest_exclusive };
        if order == LockOrder::Kept && before > Some(place) {
            return Err("acquires a lock after a later acquire of it");
        }
        self.holders.acquire(thread, mode, || (), |_| ());
        self.latest = self.latest.max(Some(place));
        if mode.is_exclusive() {
            self.latest_exclusive = Some(place);
        }
        Ok(())
    }

    fn release(&mut self, thread: ThreadId, mode: LockMode) -> std::result::Result<(), &'static str> {
        if self.holders.mode_of(thread) != Some(mode) {
            return Err("releases a lock that its thread does not hold");
        }
        self.holders.release(thread, mode);
        Ok(())
    }
}

/// Events of a list that have run, without gaps from its start.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Awaited {
    Forks(ThreadId),
    Events(ThreadId),
    Posts(SyncId),
}

struct Replay<'a> {
    trace: &'a Original,
    order: LockOrder,
    done: Vec<bool>,
    /// How many of the first events of a list have run, as far as anyone asked.
    arrived: FxHashMap<Awaited, usize>,
    locks: FxHashMap<LockId, LockState>,
    values: FxHashMap<VarId, Place>,
    /// Per variable, how far its atomic accesses have come in trace order: each is a section of the variable's own lock.
    latest_atomic: FxHashMap<VarId, Place>,
}

impl<'a> Replay<'a> {
    fn new(trace: &'a Original, order: LockOrder) -> Replay<'a> {
        Replay {
            trace,
            order,
            done: vec![false; trace.events.len()],
            arrived: FxHashMap::default(),
            locks: FxHashMap::default(),
            values: FxHashMap::default(),
            latest_atomic: FxHashMap::default(),
        }
    }

    fn run(mut self, schedule: &Schedule) -> std::result::Result<(), Violation> {
        self.run_all(&schedule.steps)?;
        let at_end = |message| Violation { step: schedule.steps.len(), message };
        self.has_all_sources().map_err(at_end)?;
        self.both_enabled(schedule).map_err(at_end)
    }

    /// Whether all writes have run that reads which have run may have seen.
    fn has_all_sources(&self) -> Verdict {
        let Some(recorded) = &self.trace.recorded else { return Ok(()) };
        for read in (0..self.done.len()).filter(|&place| self.done[place]) {
            for touch in self.trace.touches(read).iter().filter(|touch| touch.kind.reads()) {
                let accessed = (read, touch.kind.is_atomic());
                let sources = recorded.may_be_seen(touch.var, accessed);
                // Where locks keep their order, all of the schedule may run in the order in which it really did.
                let is_seen = |&write: &Place| {
                    Some(write) == touch.sees && recorded.is_known_before(write, accessed, touch.var)
                };
                if self.order == LockOrder::Any && !sources.iter().all(is_seen) {
                    let read = self.trace.events[read].index;
                    return Err(format!("it is not known what event {read} saw"));
                }
                if let Some(&write) = sources.iter().find(|&&write| !self.done[write]) {
                    let [read, write] = [read, write].map(|place| self.trace.events[place].index);
                    return Err(format!("event {read} may have seen event {write}, which does not run"));
                }
            }
        }
        Ok(())
    }

    fn run_into_deadlock(mut self, schedule: &DeadlockSchedule) -> std::result::Result<(), Violation> {
        self.run_all(&schedule.steps)?;
        let at_end = |message| Violation { step: schedule.steps.len(), message };
        self.all_wait(schedule).map_err(at_end)
    }

    fn run_all(&mut self, steps: &[Step]) -> std::result::Result<(), Violation> {
        for (at, step) in steps.iter().enumerate() {
            self.step(step).map_err(|message| Violation { step: at, message })?;
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Verdict {
        let place = self.trace.find(step)?;
        self.is_next(place)?;
        self.has_what_it_waits_for(place)?;
        self.keeps_locks(place)?;
        self.sees_the_same(place)?;
        self.done[place] = true;
        Ok(())
    }

    /// Thread order, and the forks of the thread.
    fn is_next(&mut self, place: Place) -> Verdict {
        let Step { index, event } = self.trace.events[place];
        if self.done[place] {
            return Err(format!("event {index} runs before"));
        }
        if self.trace.previous[place].is_some_and(|previous| !self.done[previous]) {
            return Err(format!("event {index} comes before what precedes it in its thread"));
        }
        self.await_all(Awaited::Forks(event.thread()), place)
    }

    /// Joins and waits.
    fn has_what_it_waits_for(&mut self, place: Place) -> Verdict {
        match self.trace.events[place].event.action() {
            Action::Join(child) => {
                self.await_all(Awaited::Forks(child), place)?;
                self.await_all(Awaited::Events(child), place)
            }
            Action::Wait(object) => self.await_all(Awaited::Posts(object), place),
            _ => Ok(()),
        }
    }

    /// Whether all events of a list that come before `place` in the trace have run.
    fn await_all(&mut self, awaited: Awaited, place: Place) -> Verdict {
        let list = match awaited {
            Awaited::Forks(thread) => self.trace.forks_of.get(&thread),
            Awaited::Events(thread) => self.trace.events_of.get(&thread),
            Awaited::Posts(object) => self.trace.posts_of.get(&object),
        };
        let Some(list) = list else { return Ok(()) };
        let arrived = self.arrived.entry(awaited).or_default();
        while list.get(*arrived).is_some_and(|&needed| self.done[needed]) {
            *arrived += 1;
        }
        match list.get(*arrived) {
            Some(&needed) if needed < place => {
                let [place, needed] = [place, needed].map(|place| self.trace.events[place].index);
                Err(format!("event {place} comes before event {needed}, which it waits for"))
            }
            _ => Ok(()),
        }
    }

    /// Exclusion, and the order of acquires.
    fn keeps_locks(&mut self, place: Place) -> Verdict {
        let Step { index, event } = self.trace.events[place];
        let (thread, order) = (event.thread(), self.order);
        let Some(mode) = event.op().lock_mode() else { return Ok(()) };
        let lock = self.locks.entry(LockId(event.operand())).or_default();
        let kept = match event.op() {
            Op::Acquire | Op::AcquireShared => lock.acquire(place, thread, mode, order),
            _ => lock.release(thread, mode),
        };
        kept.map_err(|reason| format!("event {index} {reason}"))
    }

    /// Reads see the writes that they saw in the trace; writes take effect.
    fn sees_the_same(&mut self, place: Place) -> Verdict {
        for touch in self.trace.touches(place) {
            if touch.kind.reads() && self.values.get(&touch.var).copied() != touch.sees {
                return Err(format!("event {} sees another write", self.trace.events[place].index));
            }
            if touch.kind.writes() {
                self.values.insert(touch.var, place);
            }
            let is_overtaken =
                touch.kind.is_atomic() && self.latest_atomic.insert(touch.var, place) > Some(place);
            if is_overtaken && self.order == LockOrder::Kept {
                let index = self.trace.events[place].index;
                return Err(format!("event {index} comes after a later atomic access to its variable"));
            }
        }
        Ok(())
    }

    fn both_enabled(&mut self, schedule: &Schedule) -> Verdict {
        let Schedule { race, first, second, .. } = schedule;
        let places = [self.trace.find(first)?, self.trace.find(second)?];
        for place in places {
            self.is_next(place).map_err(|reason| format!("an access is not enabled: {reason}"))?;
        }
        self.has_its_block(places[0])?;
        if (race.first.at.index, race.second.at.index) != (first.index, second.index)
            || places[0] >= places[1]
        {
            return Err("the accesses are not those of the race".into());
        }
        if first.event.thread() == second.event.thread() {
            return Err("the accesses are of one thread".into());
        }
        let [one, other] = places.map(|place| self.trace.touches(place).iter());
        let conflict = one
            .filter(|one| one.var == race.var)
            .any(|one| other.clone().any(|other| other.var == race.var && one.kind.conflicts(other.kind)));
        if conflict { Ok(()) } else { Err("the accesses do not conflict".into()) }
    }

    /// Whether the block has been allocated that an access needs.
    fn has_its_block(&self, place: Place) -> Verdict {
        for touch in self.trace.touches(place) {
            let allocation = self.trace.allocations.get(&touch.var).copied().flatten();
            if allocation.is_some_and(|allocation| allocation < place && !self.done[allocation]) {
                let index = self.trace.events[place].index;
                return Err(format!(
                    "an access is not enabled: event {index} uses a block that is not allocated"
                ));
            }
        }
        Ok(())
    }

    /// Whether every thread of a deadlock is about to acquire a lock that the next one holds.
    fn all_wait(&mut self, schedule: &DeadlockSchedule) -> Verdict {
        let DeadlockSchedule { deadlock, waiting, .. } = schedule;
        let threads: FxHashSet<ThreadId> = waiting.iter().map(|step| step.event.thread()).collect();
        let claimed = deadlock.steps.iter().map(|step| (step.at.index, step.at.thread, step.lock.0));
        let found = waiting.iter().map(|step| (step.index, step.event.thread(), step.event.operand()));
        if waiting.len() < 2 || threads.len() < waiting.len() || !claimed.eq(found) {
            return Err("the acquires are not those of a deadlock".into());
        }
        for (at, step) in waiting.iter().enumerate() {
            let place = self.trace.find(step)?;
            self.is_next(place).map_err(|reason| format!("a thread is not at its acquire: {reason}"))?;
            let (Op::Acquire | Op::AcquireShared, Some(mode)) =
                (step.event.op(), step.event.op().lock_mode())
            else {
                return Err(format!("event {} is no acquire", step.index));
            };
            if step.event.is_try() {
                return Err(format!("event {} does not wait for a lock", step.index));
            }
            let next = waiting[(at + 1) % waiting.len()].event.thread();
            let held =
                self.locks.get(&LockId(step.event.operand())).and_then(|lock| lock.holders.mode_of(next));
            if !held.is_some_and(|held| held.excludes(mode)) {
                return Err(format!("event {} does not wait for the next thread", step.index));
            }
        }
        Ok(())
    }
}

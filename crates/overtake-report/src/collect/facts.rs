//! What happened around the accesses of findings: one reading of the trace, for all findings together.
//!
//! Only the threads that race are followed. Of each it is known which locks it holds, and the last few locks, atomics and
//! objects that it used: enough to say what passes between two threads, in memory that does not grow with the trace.

use std::collections::VecDeque;

use overtake_detect::witness::Step;
use overtake_detect::{Access, Race};
use overtake_trace::{
    Action, Block, Checker, EventIndex, EventSource, IdVec, LockId, MemoryOrder, Op, Result, SyncId,
    ThreadId, VarId,
};
use rustc_hash::FxHashMap;

/// Different locks, atomics or objects that are remembered of a thread.
const RECENT: usize = 16;
/// Synchronisation events of a thread that are kept before and after its access.
const BEFORE: usize = 3;
const AFTER: usize = 2;

/// An event with the number of events of its thread before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    pub(super) step: Step,
    pub(super) ordinal: u64,
}

/// A lock that is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Held {
    pub(super) lock: LockId,
    pub(super) shared: bool,
    pub(super) acquire: Placed,
}

/// What is around one access.
#[derive(Clone, Default, Debug)]
pub(super) struct Scene {
    pub(super) access: Option<Placed>,
    pub(super) held: Vec<Held>,
    /// The last synchronisation events of its thread before it, and the next ones after it.
    pub(super) before: Vec<Placed>,
    pub(super) after: Vec<Placed>,
}

/// The latest section of a lock in a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct LockUse {
    pub(super) lock: LockId,
    pub(super) acquire: Placed,
    pub(super) release: Option<EventIndex>,
}

/// The latest atomic access of a thread to a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AtomicUse {
    pub(super) var: VarId,
    pub(super) order: MemoryOrder,
    pub(super) access: Placed,
}

/// What two threads have in common up to the later access; the earlier access' thread first.
#[derive(Clone, Default, Debug)]
pub(super) struct Common {
    pub(super) locks: Vec<[LockUse; 2]>,
    pub(super) atomics: Vec<[AtomicUse; 2]>,
    pub(super) objects: Vec<SyncId>,
}

/// Everything about one finding: of pairs, the access that comes earlier in the run first, unless [`oriented`](Facts::oriented)
/// otherwise.
#[derive(Clone, Default, Debug)]
pub(super) struct Facts {
    pub(super) scenes: [Scene; 2],
    pub(super) common: Common,
    /// The forks of the two threads.
    pub(super) forks: [Option<Placed>; 2],
    /// Where one of the two waits for the end of the other: `[0]` is the join of the first thread by the other.
    pub(super) joins: [Option<Placed>; 2],
}

impl Facts {
    /// The same, with the two accesses exchanged or not.
    pub(super) fn oriented(&self, swapped: bool) -> Facts {
        let mut facts = self.clone();
        if swapped {
            facts.scenes.reverse();
            facts.forks.reverse();
            facts.joins.reverse();
            facts.common.locks.iter_mut().for_each(|pair| pair.reverse());
            facts.common.atomics.iter_mut().for_each(|pair| pair.reverse());
        }
        facts
    }
}

/// What one reading of the trace tells.
pub(super) struct Gathered {
    /// One for each race.
    pub(super) facts: Vec<Facts>,
    /// Where threads were started.
    pub(super) forks: FxHashMap<ThreadId, Placed>,
    /// How many events of its thread come before each step.
    pub(super) ordinals: FxHashMap<Step, u64>,
}

/// Reads the trace for the facts of `races`. Also numbers the events of `steps`, which are of the same trace.
pub(super) fn gather(source: &mut dyn EventSource, races: &[Race], steps: &[Step]) -> Result<Gathered> {
    let mut gatherer = Gatherer::new(races, steps);
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        let checked = checker.check(&mut block, source.symbols_mut())?;
        for run in checked.runs() {
            for (offset, &event) in run.events.iter().enumerate() {
                gatherer.take(Step { index: EventIndex(run.first.0 + offset as u64), event });
            }
        }
    }
    gatherer.note_threads();
    let Gatherer { facts, forks, ordinals, .. } = gatherer;
    Ok(Gathered { facts, forks, ordinals })
}

struct Gatherer<'a> {
    races: &'a [Race],
    facts: Vec<Facts>,
    /// Accesses in trace order: index, finding, which of the two; and how many are over.
    wanted: Vec<(EventIndex, usize, usize)>,
    passed: usize,
    /// Events to be numbered, in trace order, and how many are over.
    numbered: Vec<EventIndex>,
    numbered_passed: usize,
    ordinals: FxHashMap<Step, u64>,
    /// Events of each thread so far.
    lengths: IdVec<ThreadId, u64>,
    /// The threads that race.
    threads: FxHashMap<ThreadId, Following>,
    forks: FxHashMap<ThreadId, Placed>,
    /// The latest join of a thread by another.
    joins: FxHashMap<[ThreadId; 2], Placed>,
}

/// A thread that races.
#[derive(Default)]
struct Following {
    held: Vec<Held>,
    locks: VecDeque<LockUse>,
    atomics: VecDeque<AtomicUse>,
    objects: VecDeque<SyncId>,
    before: VecDeque<Placed>,
    /// Scenes that still want to know what comes after.
    open: Vec<(usize, usize)>,
}

impl<'a> Gatherer<'a> {
    fn new(races: &'a [Race], steps: &[Step]) -> Gatherer<'a> {
        let sides =
            |(at, race): (usize, &Race)| [(race.first.at.index, at, 0), (race.second.at.index, at, 1)];
        let mut wanted: Vec<_> = races.iter().enumerate().flat_map(sides).collect();
        wanted.sort_unstable();
        let mut numbered: Vec<_> = steps.iter().map(|step| step.index).collect();
        numbered.sort_unstable();
        numbered.dedup();
        let racing = races.iter().flat_map(|race| [race.first.at.thread, race.second.at.thread]);
        Gatherer {
            races,
            facts: vec![Facts::default(); races.len()],
            wanted,
            passed: 0,
            numbered,
            numbered_passed: 0,
            ordinals: FxHashMap::default(),
            lengths: IdVec::new(),
            threads: racing.map(|thread| (thread, Following::default())).collect(),
            forks: FxHashMap::default(),
            joins: FxHashMap::default(),
        }
    }

    fn take(&mut self, step: Step) {
        let thread = step.event.thread();
        let length = self.lengths.entry(thread);
        let placed = Placed { step, ordinal: *length };
        *length += 1;
        self.number(placed);
        match step.event.action() {
            // Later forks of a thread are repairs or errors; the first one started it.
            Action::Fork(child) => {
                self.forks.entry(child).or_insert(placed);
            }
            Action::Join(child) => {
                self.joins.insert([child, thread], placed);
            }
            _ => {}
        }
        self.reach(placed);
        let op = step.event.op();
        if is_synchronisation(op)
            && let Some(following) = self.threads.get_mut(&thread)
        {
            following.take(placed, &mut self.facts);
        }
    }

    fn number(&mut self, placed: Placed) {
        let index = placed.step.index;
        while self.numbered.get(self.numbered_passed).is_some_and(|wanted| *wanted < index) {
            self.numbered_passed += 1;
        }
        if self.numbered.get(self.numbered_passed) == Some(&index) {
            self.ordinals.insert(placed.step, placed.ordinal);
        }
    }

    /// Notes the scenes of accesses at this event.
    fn reach(&mut self, placed: Placed) {
        while let Some(&(index, finding, side)) = self.wanted.get(self.passed)
            && index <= placed.step.index
        {
            let Race { first, second, .. } = self.races[finding];
            let access: Access = [first, second][side];
            if index == placed.step.index && !is_access(&placed, &access) {
                return; // what a repair put before it
            }
            self.passed += 1;
            if index != placed.step.index {
                continue;
            }
            let Some(following) = self.threads.get_mut(&access.at.thread) else { continue };
            self.facts[finding].scenes[side] = Scene {
                access: Some(placed),
                held: following.held.clone(),
                before: following.before.iter().copied().collect(),
                after: Vec::new(),
            };
            following.open.push((finding, side));
            if side == 1 {
                self.facts[finding].common = self.common(first.at.thread, second.at.thread);
            }
        }
    }

    fn common(&self, one: ThreadId, other: ThreadId) -> Common {
        let (Some(one), Some(other)) = (self.threads.get(&one), self.threads.get(&other)) else {
            return Common::default();
        };
        let locks = one.locks.iter().rev().filter_map(|used| {
            let theirs = other.locks.iter().find(|theirs| theirs.lock == used.lock)?;
            Some([*used, *theirs])
        });
        let atomics = one.atomics.iter().rev().filter_map(|used| {
            let theirs = other.atomics.iter().find(|theirs| theirs.var == used.var)?;
            Some([*used, *theirs])
        });
        let objects = one.objects.iter().rev().filter(|object| other.objects.contains(object));
        Common { locks: locks.collect(), atomics: atomics.collect(), objects: objects.copied().collect() }
    }

    /// Forks and joins, which are known when the trace is over.
    fn note_threads(&mut self) {
        for (facts, race) in self.facts.iter_mut().zip(self.races) {
            let [one, other] = [race.first.at.thread, race.second.at.thread];
            facts.forks = [one, other].map(|thread| self.forks.get(&thread).copied());
            facts.joins = [[one, other], [other, one]].map(|pair| self.joins.get(&pair).copied());
        }
    }
}

impl Following {
    fn take(&mut self, placed: Placed, facts: &mut [Facts]) {
        self.open.retain(|&(finding, side)| {
            let after = &mut facts[finding].scenes[side].after;
            after.push(placed);
            after.len() < AFTER
        });
        let event = placed.step.event;
        // Of what a loop repeats, once is enough.
        remember(&mut self.before, placed, BEFORE, |known| known.step.event == event);
        match event.action() {
            Action::Acquire(lock) => self.acquire(lock, false, placed),
            Action::AcquireShared(lock) => self.acquire(lock, true, placed),
            Action::Release(lock) | Action::ReleaseShared(lock) => {
                self.held.retain(|held| held.lock != lock);
                if let Some(used) = self.locks.iter_mut().find(|used| used.lock == lock) {
                    used.release = Some(placed.step.index);
                }
            }
            Action::Load(var, order) | Action::Store(var, order) | Action::Rmw(var, order) => {
                let used = AtomicUse { var, order, access: placed };
                remember(&mut self.atomics, used, RECENT, |known| known.var == var);
            }
            Action::Post(object) | Action::Wait(object) => {
                remember(&mut self.objects, object, RECENT, |known| *known == object);
            }
            _ => {}
        }
    }

    fn acquire(&mut self, lock: LockId, shared: bool, acquire: Placed) {
        self.held.push(Held { lock, shared, acquire });
        let used = LockUse { lock, acquire, release: None };
        remember(&mut self.locks, used, RECENT, |known| known.lock == lock);
    }
}

/// Puts an entry last, instead of one that is the same, forgetting the oldest where there are too many.
fn remember<T>(recent: &mut VecDeque<T>, entry: T, most: usize, is_same: impl Fn(&T) -> bool) {
    recent.retain(|known| !is_same(known));
    if recent.len() == most {
        recent.pop_front();
    }
    recent.push_back(entry);
}

fn is_access(placed: &Placed, access: &Access) -> bool {
    let event = &placed.step.event;
    let op = event.op();
    event.thread() == access.at.thread
        && matches!(op, Op::Read | Op::Write | Op::Load | Op::Store | Op::Rmw | Op::Free)
}

fn is_synchronisation(op: Op) -> bool {
    matches!(
        op,
        Op::Acquire
            | Op::Release
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::Fork
            | Op::Join
            | Op::Load
            | Op::Store
            | Op::Rmw
            | Op::Fence
            | Op::Post
            | Op::Wait
    )
}

//! A trace as the definitions see it: the list of checked events, and what the definitions need to know about it.

use std::collections::BTreeSet;

use overtake_trace::{
    Action, Block, Checker, Event, EventIndex, EventSource, LockId, Symbols, ThreadId, Trace, VarId, Variable,
};

use crate::Pair;

/// The events that [`Checker::repairing`] makes of a trace, in order.
///
/// Definitions use *positions* in this list. An inserted event has a position of its own, but the
/// input index of the event it comes before. So positions are unique, indices are not.
#[derive(Clone, Debug)]
pub struct History {
    /// The events.
    pub steps: Vec<Step>,
    /// The names, with those that repairs added.
    pub symbols: Symbols,
}

/// One event of a [`History`].
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its index in the input.
    pub index: EventIndex,
    /// The event.
    pub event: Event,
    /// The access to the variable it names, and the read of the heap block that contains the variable.
    touches: [Option<Touch>; 2],
}

/// How an event touches a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Touch {
    /// The variable.
    pub var: VarId,
    /// Whether it sees the value.
    pub reads: bool,
    /// Whether it changes the value.
    pub writes: bool,
    /// Whether it is atomic.
    pub atomic: bool,
}

/// How an event acquires or releases a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockUse {
    /// The lock.
    pub lock: LockId,
    /// Whether the section is shared.
    pub shared: bool,
}

impl LockUse {
    /// Whether sections of these two kinds exclude each other: one lock, not both shared.
    pub fn excludes(self, other: LockUse) -> bool {
        self.lock == other.lock && !(self.shared && other.shared)
    }
}

impl Step {
    /// The thread.
    pub fn thread(&self) -> ThreadId {
        self.event.thread()
    }

    /// The accesses: none, one, or two if the variable is in an allocated block.
    pub fn touches(&self) -> impl Iterator<Item = Touch> {
        self.touches.into_iter().flatten()
    }

    /// The variable an atomic load, store or read-modify-write names.
    pub fn atomic_variable(&self) -> Option<VarId> {
        self.touches().find(|touch| touch.atomic).map(|touch| touch.var)
    }

    /// What the event acquires.
    pub fn acquires(&self) -> Option<LockUse> {
        match self.event.action() {
            Action::Acquire(lock) => Some(LockUse { lock, shared: false }),
            Action::AcquireShared(lock) => Some(LockUse { lock, shared: true }),
            _ => None,
        }
    }

    /// The lock that the event waits for: the one that it acquires, unless the acquire is a try.
    pub fn waits_for(&self) -> Option<LockUse> {
        self.acquires().filter(|_| !self.event.is_try())
    }

    /// What the event releases.
    pub fn releases(&self) -> Option<LockUse> {
        match self.event.action() {
            Action::Release(lock) => Some(LockUse { lock, shared: false }),
            Action::ReleaseShared(lock) => Some(LockUse { lock, shared: true }),
            _ => None,
        }
    }

    /// The thread that the event forks.
    pub fn forks(&self) -> Option<ThreadId> {
        match self.event.action() {
            Action::Fork(child) => Some(child),
            _ => None,
        }
    }
}

impl History {
    /// Checks and repairs `trace`.
    ///
    /// # Panics
    /// If the trace cannot be repaired: an id outside its table.
    pub fn new(trace: &Trace) -> History {
        let mut source = trace.source().with_block_events(trace.events.len());
        let mut checker = Checker::repairing();
        let mut block = Block::default();
        let mut events = Vec::with_capacity(trace.events.len());
        while source.next_block(&mut block).expect("memory does not fail") {
            let checked = checker.check(&mut block, source.symbols_mut()).expect("a trace with ids in range");
            for run in checked.runs() {
                events.extend((run.first.0..).map(EventIndex).zip(run.events.iter().copied()));
            }
        }
        let symbols = source.symbols().clone();
        let mut steps: Vec<Step> = Vec::with_capacity(events.len());
        for (index, event) in events {
            let touches = touches(&steps, &symbols, event.action());
            steps.push(Step { index, event, touches });
        }
        History { steps, symbols }
    }

    /// The latest write of `var` before position `at`.
    pub fn last_write(&self, at: usize, var: VarId) -> Option<usize> {
        (0..at).rev().find(|&i| self.steps[i].touches().any(|touch| touch.var == var && touch.writes))
    }

    /// The writes that the event at `at` sees, one per variable it reads.
    pub fn seen_writes(&self, at: usize) -> impl Iterator<Item = usize> {
        let reads = self.steps[at].touches().filter(|touch| touch.reads);
        reads.filter_map(move |touch| self.last_write(at, touch.var))
    }

    /// What must have run before the event at `at` can be next: the event before it in its thread, and the earlier forks of its
    /// thread. This is the `prev` of the definitions; in a thread that was forked late or twice there is more than one.
    pub fn previous(&self, at: usize) -> impl Iterator<Item = usize> {
        let thread = self.steps[at].thread();
        let in_thread = (0..at).rev().find(move |&i| self.steps[i].thread() == thread);
        in_thread.into_iter().chain((0..at).filter(move |&i| self.steps[i].forks() == Some(thread)))
    }

    /// What must have run for two accesses to be next, the earlier one given first: what precedes each, and the allocation of the
    /// block that they lie in, unless the first one is that.
    pub fn before_both(&self, first: usize, second: usize) -> impl Iterator<Item = usize> {
        self.previous(first).chain(self.previous(second)).chain(self.allocation(first))
    }

    /// The allocation of the block that the access at `at` uses.
    pub fn allocation(&self, at: usize) -> Option<usize> {
        let allocations: Vec<Action> =
            self.steps[at].touches().map(|touch| Action::Alloc(touch.var)).collect();
        (0..at).find(|&earlier| allocations.contains(&self.steps[earlier].event.action()))
    }

    /// What else the event at `at` waits for: a join waits for all earlier events and forks of the child, a wait for all earlier
    /// posts.
    pub fn awaited(&self, at: usize) -> impl Iterator<Item = usize> {
        let action = self.steps[at].event.action();
        (0..at).filter(move |&i| {
            let step = &self.steps[i];
            match action {
                Action::Join(child) => step.thread() == child || step.forks() == Some(child),
                Action::Wait(object) => step.event.action() == Action::Post(object),
                _ => false,
            }
        })
    }

    /// The release that ends the section which the acquire at `at` begins.
    pub fn end_of_section(&self, at: usize) -> Option<usize> {
        let acquired = self.steps[at].acquires()?;
        let thread = self.steps[at].thread();
        (at + 1..self.steps.len())
            .find(|&i| self.steps[i].thread() == thread && self.steps[i].releases() == Some(acquired))
    }

    /// The acquires of the sections that are open in its thread just before the event at `at`.
    pub fn open_sections(&self, at: usize) -> impl Iterator<Item = usize> {
        let thread = self.steps[at].thread();
        (0..at).filter(move |&i| {
            let is_acquire = self.steps[i].thread() == thread && self.steps[i].acquires().is_some();
            is_acquire && self.end_of_section(i).is_none_or(|end| end >= at)
        })
    }

    /// Positions of the conflicting pairs, with the variable: different threads, one variable, at least one write, not both
    /// atomic.
    pub fn conflicts(&self) -> impl Iterator<Item = (usize, usize, VarId)> {
        (0..self.steps.len()).flat_map(move |second| {
            self.steps[second].touches().flat_map(move |touch| {
                (0..second)
                    .filter(move |&first| self.conflict(first, second, touch.var))
                    .map(move |first| (first, second, touch.var))
            })
        })
    }

    /// Whether the events at two positions conflict on `var`.
    pub fn conflict(&self, first: usize, second: usize, var: VarId) -> bool {
        let (first, second) = (&self.steps[first], &self.steps[second]);
        first.thread() != second.thread()
            && first.touches().filter(|touch| touch.var == var).any(|a| {
                second
                    .touches()
                    .filter(|touch| touch.var == var)
                    .any(|b| (a.writes || b.writes) && !(a.atomic && b.atomic))
            })
    }

    /// The position of the access with this input index.
    pub fn access_at(&self, index: EventIndex) -> Option<usize> {
        self.steps.iter().position(|step| step.index == index && step.touches().next().is_some())
    }

    /// The conflicting pairs that satisfy `is_race`, which takes positions.
    pub(crate) fn races(&self, mut is_race: impl FnMut(usize, usize) -> bool) -> BTreeSet<Pair> {
        self.conflicts()
            .filter(|&(first, second, _)| is_race(first, second))
            .map(|(first, second, var)| self.pair(first, second, var))
            .collect()
    }

    /// The pair of events at two positions.
    pub(crate) fn pair(&self, first: usize, second: usize, var: VarId) -> Pair {
        Pair { first: self.steps[first].index, second: self.steps[second].index, var }
    }
}

/// The accesses of an event that comes after `earlier`.
fn touches(earlier: &[Step], symbols: &Symbols, action: Action) -> [Option<Touch>; 2] {
    let touch = |var, reads, writes, atomic| Touch { var, reads, writes, atomic };
    let named = match action {
        Action::Read(var) => touch(var, true, false, false),
        Action::Write(var) => touch(var, false, true, false),
        Action::Load(var, _) => touch(var, true, false, true),
        Action::Store(var, _) => touch(var, false, true, true),
        Action::Rmw(var, _) => touch(var, true, true, true),
        Action::Alloc(block) => touch(block, false, true, false),
        // What was never allocated cannot be freed.
        Action::Free(block) => touch(block, true, true, false),
        _ => return [None; 2],
    };
    // After a gap, a block may be freed without an event that allocates it, because that event is lost.
    let allocated = |&block: &VarId| {
        let tells = [Action::Alloc(block), Action::Free(block)];
        earlier.iter().any(|step| tells.contains(&step.event.action()))
    };
    let block = match symbols.variables.get(named.var) {
        Variable::Element { array, .. } => symbols.variables.array_facts(array).block.filter(allocated),
        Variable::Named(_) | Variable::Block(_) => None,
    };
    [Some(named), block.map(|block| touch(block, true, false, false))]
}

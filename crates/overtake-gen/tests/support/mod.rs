//! Happens-before by its definition: every event's set of predecessors, for small traces.

use overtake_trace::{Action, Event, MemoryOrder, ThreadId, Trace, VarId, Variable};

/// Sets of event indices.
type Set = Vec<u64>;

fn insert(set: &mut Set, at: usize) {
    set[at / 64] |= 1 << (at % 64);
}

fn unite(set: &mut Set, more: &Set) {
    set.iter_mut().zip(more).for_each(|(word, more)| *word |= more);
}

fn contains(set: &Set, at: usize) -> bool {
    set[at / 64] & (1 << (at % 64)) != 0
}

/// All pairs of conflicting accesses that nothing orders, as (first index, second index).
pub(crate) fn race_pairs(trace: &Trace) -> Vec<(usize, usize)> {
    let before = predecessors(trace);
    let touched: Vec<Vec<Touch>> = (0..trace.events.len()).map(|at| touches(trace, at)).collect();
    let mut pairs = Vec::new();
    for second in 0..trace.events.len() {
        for first in 0..second {
            let different = trace.events[first].thread() != trace.events[second].thread();
            if different && conflict(&touched[first], &touched[second]) && !contains(&before[second], first) {
                pairs.push((first, second));
            }
        }
    }
    pairs
}

/// A variable, whether the access writes, and whether it is atomic.
type Touch = (VarId, bool, bool);

/// The variables that an event accesses.
fn touches(trace: &Trace, at: usize) -> Vec<Touch> {
    match trace.events[at].action() {
        Action::Read(var) => with_block(trace, at, (var, false, false)),
        Action::Write(var) => with_block(trace, at, (var, true, false)),
        Action::Load(var, _) => vec![(var, false, true)],
        Action::Store(var, _) | Action::Rmw(var, _) => vec![(var, true, true)],
        Action::Alloc(block) | Action::Free(block) => vec![(block, true, false)],
        _ => Vec::new(),
    }
}

/// An access to an element of an allocated block also reads the block.
fn with_block(trace: &Trace, at: usize, touch: Touch) -> Vec<Touch> {
    if let Variable::Element { array, .. } = trace.symbols.variables.get(touch.0)
        && let Some(block) = trace.symbols.variables.array_facts(array).block
        && trace.events[..at].iter().any(|event| event.action() == Action::Alloc(block))
    {
        return vec![touch, (block, false, false)];
    }
    vec![touch]
}

fn conflict(first: &[Touch], second: &[Touch]) -> bool {
    first.iter().any(|&(var, writes, atomic)| {
        second.iter().any(|&(other, other_writes, other_atomic)| {
            var == other && (writes || other_writes) && !(atomic && other_atomic)
        })
    })
}

/// For every event, the events that happen before it.
fn predecessors(trace: &Trace) -> Vec<Set> {
    let words = trace.events.len().div_ceil(64);
    let mut before: Vec<Set> = Vec::with_capacity(trace.events.len());
    for (at, event) in trace.events.iter().enumerate() {
        let mut set = vec![0; words];
        for (earlier, before_earlier) in before.iter().enumerate() {
            if !contains(&set, earlier) && is_edge(&trace.events, earlier, at) {
                insert(&mut set, earlier);
                unite(&mut set, before_earlier);
            }
        }
        for released in acquired(&trace.events, at, event) {
            insert(&mut set, released);
            unite(&mut set, &before[released]);
        }
        before.push(set);
    }
    before
}

/// The edges of `docs/semantics.md`, except those of atomics.
fn is_edge(events: &[Event], earlier: usize, later: usize) -> bool {
    let (from, to) = (&events[earlier], &events[later]);
    if from.thread() == to.thread() {
        return true;
    }
    match (from.action(), to.action()) {
        (Action::Fork(child), _) if child == to.thread() => true,
        (_, Action::Join(child)) if child == from.thread() => true,
        (Action::Fork(child), Action::Join(joined)) if child == joined => true,
        (Action::Release(released), Action::Acquire(lock) | Action::AcquireShared(lock)) => released == lock,
        (Action::ReleaseShared(released), Action::Acquire(lock)) => released == lock,
        (Action::Post(posted), Action::Wait(object)) => posted == object,
        _ => false,
    }
}

/// The events whose release the event at `at` acquires through atomics.
fn acquired(events: &[Event], at: usize, event: &Event) -> Vec<usize> {
    match event.action() {
        Action::Load(_, order) | Action::Rmw(_, order) if order.acquires() => released_to(events, at),
        Action::Fence(order) if order.acquires() => (0..at)
            .filter(|&read| events[read].thread() == event.thread())
            .filter(|&read| matches!(events[read].action(), Action::Load(..) | Action::Rmw(..)))
            .flat_map(|read| released_to(events, read))
            .collect(),
        _ => Vec::new(),
    }
}

/// The events that are released to the load or read-modify-write at `read`, by the release sequences that reach it.
fn released_to(events: &[Event], read: usize) -> Vec<usize> {
    let var = VarId(events[read].operand());
    let mut released = Vec::new();
    for write in (0..read).rev() {
        match events[write].action() {
            Action::Rmw(other, order) if other == var => released.extend(releases(events, write, order)),
            Action::Store(other, order) if other == var => {
                released.extend(releases(events, write, order));
                if order != MemoryOrder::Volatile {
                    break;
                }
            }
            _ => {}
        }
    }
    released
}

/// What an atomic write releases: itself, and the latest release fence before it.
fn releases(events: &[Event], write: usize, order: MemoryOrder) -> Vec<usize> {
    let thread: ThreadId = events[write].thread();
    let fence = (0..write).rev().find(|&at| {
        events[at].thread() == thread
            && matches!(events[at].action(), Action::Fence(order) if order.releases())
    });
    order.releases().then_some(write).into_iter().chain(fence).collect()
}

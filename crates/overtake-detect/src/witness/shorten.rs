//! A schedule cut down to what a reader needs to see why the race or the deadlock is possible.

use std::collections::BTreeMap;

use overtake_trace::{Action, LockId, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{DeadlockSchedule, Schedule, Step};

/// A line of a shortened schedule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Row {
    /// An event that matters.
    Step {
        /// The event.
        step: Step,
        /// Why it is shown.
        reason: Reason,
    },
    /// Events that are not shown here: how many of each thread, in thread order.
    Omitted(Vec<(ThreadId, u64)>),
}

/// Why an event is shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Reason {
    /// One of the two accesses; of a deadlock, an acquire that waits.
    Access,
    /// It acquires a lock that its thread, one of those that meet, holds at its access.
    Held,
    /// A section of its lock that came earlier in the run is left out.
    Overtakes,
    /// It begins one of two sections whose order is another one than in the run.
    Reversed,
    /// It hands something to one of the two threads (a fork, a write that is read), or takes it (a read, join or wait).
    Handover,
    /// It comes shortly before one of the accesses in its thread.
    Context,
}

/// The steps that matter, with at least `context` events of each of the two threads before its access, and the accesses at
/// the end.
pub fn shorten(schedule: &Schedule, context: usize) -> Vec<Row> {
    let mut reasons = Reasons::new();
    let last = [schedule.first, schedule.second];
    note_threads(&schedule.steps, &last, context, &mut reasons);
    let overtaking: FxHashSet<Step> = schedule.overtaken.iter().map(|overtaken| overtaken.by).collect();
    for (at, _) in schedule.steps.iter().enumerate().filter(|(_, step)| overtaking.contains(step)) {
        note(&mut reasons, at, Reason::Overtakes);
    }
    let reversed: FxHashSet<Step> = super::reversals(&schedule.steps)
        .iter()
        .flat_map(|reversal| [reversal.acquire, reversal.since])
        .collect();
    for (at, _) in schedule.steps.iter().enumerate().filter(|(_, step)| reversed.contains(step)) {
        note(&mut reasons, at, Reason::Reversed);
    }
    rows(&schedule.steps, &last, &reasons)
}

/// The steps that matter, with at least `context` events of each thread of the deadlock before it waits, and the acquires
/// that wait at the end.
pub fn shorten_deadlock(schedule: &DeadlockSchedule, context: usize) -> Vec<Row> {
    let mut reasons = Reasons::new();
    note_threads(&schedule.steps, &schedule.waiting, context, &mut reasons);
    rows(&schedule.steps, &schedule.waiting, &reasons)
}

/// Notes what matters of the threads of the last steps.
fn note_threads(steps: &[Step], last: &[Step], context: usize, reasons: &mut Reasons) {
    for thread in last.iter().map(|step| step.event.thread()) {
        note_context(steps, thread, context, reasons);
        note_handovers(steps, thread, reasons);
        note_held(steps, thread, reasons);
    }
}

/// The reason for each step that is shown, by position; the strongest one counts.
type Reasons = BTreeMap<usize, Reason>;

fn note(reasons: &mut Reasons, at: usize, reason: Reason) {
    let known = reasons.entry(at).or_insert(reason);
    *known = reason.min(*known);
}

fn note_context(steps: &[Step], thread: ThreadId, context: usize, reasons: &mut Reasons) {
    let steps = steps.iter().enumerate().rev();
    for (at, _) in steps.filter(|(_, step)| step.event.thread() == thread).take(context) {
        note(reasons, at, Reason::Context);
    }
}

fn note_held(steps: &[Step], thread: ThreadId, reasons: &mut Reasons) {
    let mut held: FxHashMap<LockId, usize> = FxHashMap::default();
    for (at, step) in steps.iter().enumerate().filter(|(_, step)| step.event.thread() == thread) {
        match step.event.action() {
            Action::Acquire(lock) | Action::AcquireShared(lock) => {
                held.insert(lock, at);
            }
            Action::Release(lock) | Action::ReleaseShared(lock) => {
                held.remove(&lock);
            }
            _ => {}
        }
    }
    held.into_values().for_each(|at| note(reasons, at, Reason::Held));
}

/// The last event of each other thread that hands something to `thread`, with the event that takes it.
fn note_handovers(steps: &[Step], thread: ThreadId, reasons: &mut Reasons) {
    let mut last_writes: FxHashMap<VarId, (usize, ThreadId)> = FxHashMap::default();
    let mut handovers: FxHashMap<ThreadId, [Option<usize>; 2]> = FxHashMap::default();
    for (at, step) in steps.iter().enumerate() {
        let by = step.event.thread();
        match step.event.action() {
            Action::Fork(child) if child == thread => {
                handovers.insert(by, [Some(at), None]);
            }
            Action::Join(child) if by == thread => {
                handovers.insert(child, [None, Some(at)]);
            }
            Action::Wait(_) if by == thread => {
                handovers.insert(by, [None, Some(at)]);
            }
            Action::Read(var) | Action::Load(var, _) | Action::Rmw(var, _) if by == thread => {
                if let Some(&(write, writer)) = last_writes.get(&var).filter(|&&(_, writer)| writer != by) {
                    handovers.insert(writer, [Some(write), Some(at)]);
                }
            }
            _ => {}
        }
        if let Action::Write(var) | Action::Store(var, _) | Action::Rmw(var, _) = step.event.action() {
            last_writes.insert(var, (at, by));
        }
    }
    for at in handovers.into_values().flatten().flatten() {
        note(reasons, at, Reason::Handover);
    }
}

fn rows(steps: &[Step], last: &[Step], reasons: &Reasons) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut omitted = Omitted::new();
    for (at, &step) in steps.iter().enumerate() {
        match reasons.get(&at) {
            Some(&reason) => {
                rows.extend(take_omitted(&mut omitted));
                rows.push(Row::Step { step, reason });
            }
            None => *omitted.entry(step.event.thread().0).or_default() += 1,
        }
    }
    rows.extend(take_omitted(&mut omitted));
    rows.extend(last.iter().map(|&step| Row::Step { step, reason: Reason::Access }));
    rows
}

/// How many events of each thread were passed over.
type Omitted = BTreeMap<u32, u64>;

fn take_omitted(omitted: &mut Omitted) -> Option<Row> {
    let counts: Vec<_> =
        std::mem::take(omitted).into_iter().map(|(thread, count)| (ThreadId(thread), count)).collect();
    (!counts.is_empty()).then_some(Row::Omitted(counts))
}

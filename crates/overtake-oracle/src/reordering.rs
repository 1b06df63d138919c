//! Checks whether a schedule is a correct reordering of a trace: replays it event by event and compares with the definition.
//!
//! This shares no code with anything else that reasons about reorderings. It keeps the held locks and the last write of every
//! variable, as a machine would.
//!
//! A schedule names events by their input index. An inserted event has the index of the event it comes
//! before, so an index can mean several events. A schedule is correct if it is correct for one choice of these events.

use std::collections::BTreeMap;
use std::fmt;

use overtake_trace::{EventIndex, LockId, ThreadId, Trace, VarId};

use crate::history::{History, LockUse};

/// Why a schedule is not what it was claimed to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Violation {
    /// The event concerned.
    pub event: EventIndex,
    /// The rule it breaks.
    pub rule: Rule,
}

/// The rules for schedules.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// Scheduled events are events of the trace, each at most once.
    OnceInTrace,
    /// What precedes an event in its thread is scheduled before it, and so are the forks of its thread.
    Previous,
    /// A join comes after the joined thread's events and forks, a wait after the posts it waited for.
    Awaited,
    /// No section overlaps one that excludes it.
    Exclusion,
    /// A read sees the write it saw in the trace.
    SameWrite,
    /// A racing event is not scheduled, but everything before it in its thread is, and the forks of its thread.
    Enabled,
    /// Racing events conflict.
    Conflict,
    /// An acquire of a deadlock waits for a lock that the next thread of the cycle holds.
    Waits,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rule = match self.rule {
            Rule::OnceInTrace => "is not in the trace, or is scheduled twice",
            Rule::Previous => "is scheduled before what precedes it in its thread or the fork of its thread",
            Rule::Awaited => "is scheduled before something it waited for",
            Rule::Exclusion => "acquires a lock that is held",
            Rule::SameWrite => "sees another write than in the trace",
            Rule::Enabled => "is not enabled after the schedule",
            Rule::Conflict => "does not conflict with the other event of the race",
            Rule::Waits => "does not wait for the next thread of the deadlock",
        };
        write!(f, "event {} {rule}", self.event)
    }
}

impl std::error::Error for Violation {}

/// Whether `schedule` is a correct reordering of `trace`.
pub fn check(trace: &Trace, schedule: &[EventIndex]) -> Result<(), Violation> {
    let history = History::new(trace);
    replay(&history, Replay::default(), schedule, &mut |_| Ok(()))
}

/// Whether `schedule` is a correct reordering of `trace` after which `first` and `second`, which conflict, are both
/// enabled.
pub fn check_race(
    trace: &Trace,
    schedule: &[EventIndex],
    first: EventIndex,
    second: EventIndex,
) -> Result<(), Violation> {
    let history = History::new(trace);
    let access = |index| history.access_at(index).ok_or(Violation { event: index, rule: Rule::Conflict });
    let (first, second) = (access(first)?, access(second)?);
    let conflict = history.steps[first].touches().any(|touch| history.conflict(first, second, touch.var));
    if !conflict {
        return Err(Violation { event: history.steps[second].index, rule: Rule::Conflict });
    }
    replay(&history, Replay::default(), schedule, &mut |end| {
        let has_block = history.allocation(first).is_none_or(|at| end.scheduled.contains(&at));
        if !has_block {
            return Err(Violation { event: history.steps[first].index, rule: Rule::Enabled });
        }
        [first, second].into_iter().try_for_each(|event| end.enables(&history, event))
    })
}

/// Whether `schedule` is a correct reordering of `trace` after which every one of `acquires` is enabled and waits for a lock
/// that the thread of the next one holds. The last one waits for a lock of the first one's thread.
pub fn check_deadlock(
    trace: &Trace,
    schedule: &[EventIndex],
    acquires: &[EventIndex],
) -> Result<(), Violation> {
    let history = History::new(trace);
    let acquire = |&index: &EventIndex| {
        let steps = history.steps.iter();
        let found = steps.enumerate().find(|(_, step)| step.index == index && step.acquires().is_some());
        found.map(|(at, _)| at).ok_or(Violation { event: index, rule: Rule::Waits })
    };
    let acquires = acquires.iter().map(acquire).collect::<Result<Vec<_>, _>>()?;
    replay(&history, Replay::default(), schedule, &mut |end| {
        let next = acquires.iter().cycle().skip(1);
        acquires.iter().zip(next).try_for_each(|(&event, &next)| {
            end.enables(&history, event)?;
            let step = &history.steps[event];
            let thread = history.steps[next].thread();
            let blocks = |&(lock, holder, shared): &(u32, ThreadId, bool)| {
                let held = LockUse { lock: LockId(lock), shared };
                holder == thread && step.waits_for().is_some_and(|wanted| wanted.excludes(held))
            };
            let waits = thread != step.thread() && end.held().any(|held| blocks(&held));
            if waits { Ok(()) } else { Err(Violation { event: step.index, rule: Rule::Waits }) }
        })
    })
}

/// Whether `schedule` is a correct reordering of `trace` in which acquires of one lock, unless both are shared, and atomic
/// accesses to one variable come in the order of the trace.
pub fn is_sync_preserving(trace: &Trace, schedule: &[EventIndex]) -> bool {
    let history = History::new(trace);
    let in_order = |end: &Replay| {
        for (rank, &later) in end.scheduled.iter().enumerate() {
            for &sooner in &end.scheduled[..rank] {
                let (a, b) = (&history.steps[sooner], &history.steps[later]);
                let acquires = a.acquires().zip(b.acquires()).is_some_and(|(a, b)| a.excludes(b));
                let atomics = a.atomic_variable().is_some() && a.atomic_variable() == b.atomic_variable();
                if (acquires || atomics) && later < sooner {
                    return Err(Violation { event: b.index, rule: Rule::Exclusion });
                }
            }
        }
        Ok(())
    };
    replay(&history, Replay::default(), schedule, &mut { in_order }).is_ok()
}

/// The machine after some events of a schedule.
#[derive(Clone, Default, Debug)]
struct Replay {
    /// Positions of the events done, in order.
    scheduled: Vec<usize>,
    holders: BTreeMap<u32, Vec<(ThreadId, bool)>>,
    values: BTreeMap<u32, usize>,
}

/// Runs `schedule` from `machine` on, and calls `at_end` at its end. Where an index means several events, all are
/// tried. If none works, the last violation is returned.
fn replay(
    history: &History,
    mut machine: Replay,
    schedule: &[EventIndex],
    at_end: &mut impl FnMut(&Replay) -> Result<(), Violation>,
) -> Result<(), Violation> {
    for (done, &index) in schedule.iter().enumerate() {
        let candidates: Vec<usize> = (0..history.steps.len())
            .filter(|at| history.steps[*at].index == index && !machine.scheduled.contains(at))
            .collect();
        if let [event] = candidates[..] {
            machine.run(history, event)?;
            continue;
        }
        let mut result = Err(Violation { event: index, rule: Rule::OnceInTrace });
        for event in candidates {
            let mut branch = machine.clone();
            result = branch
                .run(history, event)
                .and_then(|()| replay(history, branch, &schedule[done + 1..], at_end));
            if result.is_ok() {
                break;
            }
        }
        return result;
    }
    at_end(&machine)
}

impl Replay {
    /// Whether an event is next: not done, but everything before it in its thread is.
    fn enables(&self, history: &History, event: usize) -> Result<(), Violation> {
        let previous_done = history.previous(event).all(|at| self.scheduled.contains(&at));
        if previous_done && !self.scheduled.contains(&event) {
            return Ok(());
        }
        Err(Violation { event: history.steps[event].index, rule: Rule::Enabled })
    }

    /// Every lock with a thread that holds it, and whether it does so in shared mode.
    fn held(&self) -> impl Iterator<Item = (u32, ThreadId, bool)> {
        let all = self.holders.iter();
        all.flat_map(|(&lock, holders)| holders.iter().map(move |&(holder, shared)| (lock, holder, shared)))
    }

    fn run(&mut self, history: &History, event: usize) -> Result<(), Violation> {
        let step = &history.steps[event];
        let require = |holds: bool, rule: Rule| {
            if holds { Ok(()) } else { Err(Violation { event: step.index, rule }) }
        };
        require(history.previous(event).all(|at| self.scheduled.contains(&at)), Rule::Previous)?;
        require(history.awaited(event).all(|at| self.scheduled.contains(&at)), Rule::Awaited)?;
        if let Some(wanted) = step.acquires() {
            let holders = self.holders(wanted.lock);
            require(holders.iter().all(|&(_, shared)| shared && wanted.shared), Rule::Exclusion)?;
            holders.push((step.thread(), wanted.shared));
        }
        if let Some(released) = step.releases() {
            self.holders(released.lock).retain(|&holder| holder != (step.thread(), released.shared));
        }
        for touch in step.touches().filter(|touch| touch.reads) {
            require(self.value(touch.var) == history.last_write(event, touch.var), Rule::SameWrite)?;
        }
        for touch in step.touches().filter(|touch| touch.writes) {
            self.values.insert(touch.var.0, event);
        }
        self.scheduled.push(event);
        Ok(())
    }

    fn holders(&mut self, lock: LockId) -> &mut Vec<(ThreadId, bool)> {
        self.holders.entry(lock.0).or_default()
    }

    fn value(&self, var: VarId) -> Option<usize> {
        self.values.get(&var.0).copied()
    }
}

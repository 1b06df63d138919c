//! The part of the run around two accesses, and the order that brings them together.

use std::collections::{BTreeMap, BTreeSet};

use overtake_detect::Access;
use overtake_detect::witness::Step as Event;
use overtake_trace::{Action, LockId, ThreadId};
use rustc_hash::FxHashMap;

use super::chosen::Chosen;
use super::facts::{Facts, Placed};
use super::names::Names;
use crate::result::{self, Arrow, ArrowKind, Reversal, Schedule, Section, Step};

/// Draws the schedule of a finding.
pub(super) fn schedule(
    facts: &Facts,
    chosen: Option<&Chosen>,
    ordinals: &FxHashMap<Event, u64>,
    accesses: [Access; 2],
    names: &Names<'_>,
) -> Option<Schedule> {
    let [one, other] = [facts.scenes[0].access?, facts.scenes[1].access?];
    let events = match chosen {
        Some(chosen) => placed(chosen, ordinals),
        None => around(facts),
    };
    let drawing = Drawing::new(events);
    let role_of = |event: &Event| {
        let is_access = *event == one.step || *event == other.step;
        let of_thread = |access: &Access| access.at.thread == event.event.thread();
        accesses.iter().position(of_thread).filter(|_| is_access).map(|role| role as u32)
    };
    Some(Schedule {
        threads: drawing.threads.iter().map(|&thread| names.thread_name(thread)).collect(),
        steps: drawing.steps(names, role_of),
        witness: chosen.map(|chosen| drawing.positions(&chosen.witness)).unwrap_or_default(),
        sections: drawing.sections(names),
        arrows: drawing.arrows(chosen.map(|chosen| &*chosen.seen).unwrap_or_default()),
        reversals: chosen.map(|chosen| reversals(chosen, names)).unwrap_or_default(),
    })
}

/// The sections that the witness takes in another order than the run.
fn reversals(chosen: &Chosen, names: &Names<'_>) -> Vec<Reversal> {
    let access = |step: &Event| result::Access {
        operation: step.event.op().describe().to_owned(),
        object: names.operand(&step.event),
        event: step.index.0,
        thread: names.thread(step.event.thread()),
        stack: names.stack(step.event.location()),
        ..result::Access::default()
    };
    let reversals = chosen.reversals.iter();
    reversals
        .map(|reversal| Reversal { acquire: access(&reversal.acquire), release: access(&reversal.until) })
        .collect()
}

fn placed(chosen: &Chosen, ordinals: &FxHashMap<Event, u64>) -> Vec<Placed> {
    let number = |step: Event| Placed { step, ordinal: ordinals.get(&step).copied().unwrap_or(0) };
    chosen.steps().map(number).collect()
}

/// What happened around the accesses.
fn around(facts: &Facts) -> Vec<Placed> {
    let mut events: Vec<Placed> = facts.forks.iter().flatten().copied().collect();
    for scene in &facts.scenes {
        events.extend(scene.held.iter().filter_map(|held| held.acquire));
        events.extend(&scene.before);
        events.extend(scene.access);
        events.extend(&scene.after);
    }
    events
}

/// Events in the order of the run.
struct Drawing {
    events: Vec<Placed>,
    /// Threads in order of their first event.
    threads: Vec<ThreadId>,
}

impl Drawing {
    fn new(mut events: Vec<Placed>) -> Drawing {
        // Events that a repair inserted share the index of the event behind them.
        events.sort_by_key(|placed| (placed.step.index, placed.ordinal));
        events.dedup();
        let mut threads = Vec::new();
        for placed in &events {
            let thread = placed.step.event.thread();
            if !threads.contains(&thread) {
                threads.push(thread);
            }
        }
        Drawing { events, threads }
    }

    fn lane(&self, thread: ThreadId) -> u32 {
        self.threads.iter().position(|&known| known == thread).unwrap_or(0) as u32
    }

    fn positions(&self, order: &[Event]) -> Vec<u32> {
        let positions: FxHashMap<Event, u32> =
            self.events.iter().zip(0..).map(|(placed, position)| (placed.step, position)).collect();
        order.iter().filter_map(|event| positions.get(event).copied()).collect()
    }

    fn steps(&self, names: &Names<'_>, role_of: impl Fn(&Event) -> Option<u32>) -> Vec<Step> {
        let mut ordinals: BTreeMap<ThreadId, u64> = BTreeMap::new();
        let step = |placed: &Placed| {
            let Placed { step, ordinal } = placed;
            let thread = step.event.thread();
            let next = ordinals.insert(thread, ordinal + 1);
            Step {
                event: step.index.0,
                thread: self.lane(thread),
                operation: step.event.op().describe().to_owned(),
                operand: names.operand(&step.event),
                place: names.place(step.event.location()),
                role: role_of(step),
                // What a thread did before its first step is of no interest.
                omitted: next.map_or(0, |next| ordinal.saturating_sub(next)),
            }
        };
        self.events.iter().map(step).collect()
    }

    fn sections(&self, names: &Names<'_>) -> Vec<Section> {
        let mut sections: Vec<Section> = Vec::new();
        let mut open: BTreeMap<(ThreadId, LockId), usize> = BTreeMap::new();
        for (placed, position) in self.events.iter().zip(0..) {
            let thread = placed.step.event.thread();
            let (lock, shared, acquires) = match placed.step.event.action() {
                Action::Acquire(lock) => (lock, false, true),
                Action::AcquireShared(lock) => (lock, true, true),
                Action::Release(lock) => (lock, false, false),
                Action::ReleaseShared(lock) => (lock, true, false),
                _ => continue,
            };
            if !acquires && let Some(section) = open.remove(&(thread, lock)) {
                sections[section].to = Some(position);
                continue;
            }
            let (from, to) = if acquires { (Some(position), None) } else { (None, Some(position)) };
            if acquires {
                open.insert((thread, lock), sections.len());
            }
            let name = names.symbols.locks.display(lock);
            sections.push(Section { lock: name, shared, thread: self.lane(thread), from, to });
        }
        sections
    }

    fn arrows(&self, seen: &[(Event, Event)]) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        for (write, read) in seen {
            if let [from, to] = self.positions(&[*write, *read])[..] {
                arrows.push(Arrow { from, to, kind: ArrowKind::ReadsFrom });
            }
        }
        let mut started: BTreeSet<ThreadId> = BTreeSet::new();
        for (at, placed) in self.events.iter().enumerate() {
            let thread = placed.step.event.thread();
            let before = || self.events[..at].iter().enumerate().rev();
            let fork = |(_, earlier): &(usize, &Placed)| earlier.step.event.action() == Action::Fork(thread);
            let source = match placed.step.event.action() {
                Action::Acquire(lock) | Action::AcquireShared(lock) => {
                    let release = before().find(|(_, earlier)| releases(earlier, lock));
                    release.map(|found| (found, ArrowKind::LockOrder))
                }
                Action::Join(child) => {
                    let last = before().find(|(_, earlier)| earlier.step.event.thread() == child);
                    last.map(|found| (found, ArrowKind::Join))
                }
                Action::Wait(object) => {
                    let post =
                        before().find(|(_, earlier)| earlier.step.event.action() == Action::Post(object));
                    post.map(|found| (found, ArrowKind::Wait))
                }
                _ => None,
            };
            let fork = started.insert(thread).then(|| before().find(fork)).flatten();
            for ((from, earlier), kind) in
                source.into_iter().chain(fork.map(|found| (found, ArrowKind::Fork)))
            {
                if earlier.step.event.thread() != thread {
                    arrows.push(Arrow { from: from as u32, to: at as u32, kind });
                }
            }
        }
        arrows.sort_by_key(|arrow| (arrow.to, arrow.from));
        arrows
    }
}

fn releases(placed: &Placed, lock: LockId) -> bool {
    match placed.step.event.action() {
        Action::Release(released) | Action::ReleaseShared(released) => released == lock,
        _ => false,
    }
}

//! Deadlocks: one finding for each cycle of places at which locks are taken, whichever detectors found it.

use std::collections::BTreeMap;

use overtake_detect::witness::DeadlockSchedule;
use overtake_detect::{Deadlock, DeadlockStep, Verdict};

use super::names::Names;
use crate::model::Analysed;
use crate::result::{
    Access, Arrow, ArrowKind, Finding, HeldLock, Kind, Schedule, Section, Step, innermost_own,
};

/// A finding in ids.
#[derive(Clone, Debug)]
pub(super) struct DeadlockGroup {
    pub(super) deadlock: Deadlock,
    count: u64,
    /// Positions of the detectors that report it.
    detectors: Vec<usize>,
    /// A schedule that leads to it was built and checked.
    checked: bool,
}

/// Brings the deadlocks of all detectors together, the surest first.
pub(super) fn groups(analysed: &Analysed<'_>, names: &Names<'_>) -> Vec<DeadlockGroup> {
    let mut by_key: BTreeMap<Vec<[String; 2]>, DeadlockGroup> = BTreeMap::new();
    for (detector, findings) in analysed.findings.iter().enumerate() {
        for group in findings.races.deadlocks() {
            let new = DeadlockGroup {
                deadlock: group.surest.clone(),
                count: group.count,
                detectors: Vec::new(),
                checked: false,
            };
            let known = by_key.entry(key(&group.example, names)).or_insert_with(|| new.clone());
            if new.deadlock.verdict < known.deadlock.verdict {
                known.deadlock = new.deadlock;
            }
            known.count = known.count.max(group.count);
            known.detectors.push(detector);
        }
    }
    let mut groups: Vec<_> = by_key.into_values().collect();
    groups.sort_by_key(|group| group.deadlock.verdict);
    groups
}

/// Where the locks are taken and waited for; of an unknown place, the lock.
fn key(deadlock: &Deadlock, names: &Names<'_>) -> Vec<[String; 2]> {
    let place = |location, lock| {
        let line = names.line(location);
        if line.is_empty() { names.lock_name(lock) } else { line }
    };
    let steps = deadlock.steps.iter();
    let mut key: Vec<_> = steps
        .map(|step| [place(step.at.location, step.lock), place(step.held_at.location, step.held)])
        .collect();
    key.sort_unstable();
    key
}

impl DeadlockGroup {
    /// Takes note of a schedule that leads to it.
    pub(super) fn witnessed(&mut self, schedule: &DeadlockSchedule) {
        self.checked = schedule.deadlock == self.deadlock;
    }

    /// The finding, spelled out.
    pub(super) fn finding(&self, analysed: &Analysed<'_>, names: &Names<'_>) -> Finding {
        let steps = &self.deadlock.steps;
        let accesses: Vec<Access> = steps.iter().map(|step| access(step, names)).collect();
        let objects: Vec<String> = steps.iter().map(|step| names.lock_name(step.held)).collect();
        let detectors = self.detectors.iter().map(|&at| analysed.findings[at].detector.name.to_owned());
        Finding {
            kind: Kind::Deadlock,
            rule: "deadlock".into(),
            verdict: self.deadlock.verdict,
            headline: headline(&objects, &accesses),
            accesses,
            objects,
            count: self.count,
            detectors: detectors.collect(),
            runs: vec![0],
            why: self.why(names),
            remedy: "Take the locks in the same order everywhere, or take all of them at once (std::scoped_lock does)."
                .into(),
            schedule: Some(self.schedule(names)),
            ..Finding::default()
        }
    }

    fn why(&self, names: &Names<'_>) -> String {
        let waits = self.deadlock.steps.iter().map(|step| {
            let thread = names.thread_name(step.at.thread);
            let [held, wanted] = [step.held, step.lock].map(|lock| names.lock_name(lock));
            format!("{thread} holds {held} and waits for {wanted}")
        });
        let waits = waits.collect::<Vec<_>>().join(", ");
        let how = match (self.deadlock.verdict, self.checked) {
            (Verdict::Observed, _) => "The run ends like this",
            (Verdict::Predicted, true) => {
                "A schedule of this run leads here, with every lock taken in the order of the run; it was replayed and checked"
            }
            (Verdict::Predicted, false) => {
                "A reordering of this run leads here, with every lock taken in the order of the run"
            }
            (Verdict::Possible, _) => {
                "A reordering of this run leads here, if reads that race with a write saw what the merged order suggests"
            }
            (Verdict::Suspected, _) => {
                "No lock that all of them hold, no thread creation, no join and no wait keeps the threads apart. Whether the values that \
                 they read keep them apart was not checked"
            }
        };
        format!("{how}: {waits}.")
    }

    /// Who holds what since when, who waits where, and for whom.
    fn schedule(&self, names: &Names<'_>) -> Schedule {
        let steps = &self.deadlock.steps;
        let mut events: Vec<(usize, bool)> =
            (0..steps.len()).flat_map(|lane| [(lane, false), (lane, true)]).collect();
        let at = |(lane, waits): (usize, bool)| if waits { steps[lane].at } else { steps[lane].held_at };
        events.sort_by_key(|&event| at(event).index);
        let position = |event| events.iter().position(|&known| known == event).unwrap_or(0) as u32;
        let step = |&(lane, waits): &(usize, bool)| {
            let lock = if waits { steps[lane].lock } else { steps[lane].held };
            Step {
                event: at((lane, waits)).index.0,
                thread: lane as u32,
                operation: "acquire".into(),
                operand: names.lock_name(lock),
                place: names.place(at((lane, waits)).location),
                role: waits.then_some(lane as u32),
                omitted: 0,
            }
        };
        let order = |waits| events.iter().copied().filter(move |event| event.1 == waits).map(position);
        let section = |lane: usize| Section {
            lock: names.lock_name(steps[lane].held),
            shared: false,
            thread: lane as u32,
            from: Some(position((lane, false))),
            to: None,
        };
        let arrow = |lane: usize| Arrow {
            from: position((lane, true)),
            to: position(((lane + 1) % steps.len(), false)),
            kind: ArrowKind::WaitsFor,
        };
        Schedule {
            threads: steps.iter().map(|step| names.thread_name(step.at.thread)).collect(),
            steps: events.iter().map(step).collect(),
            witness: if self.checked { order(false).chain(order(true)).collect() } else { Vec::new() },
            sections: (0..steps.len()).map(section).collect(),
            arrows: (0..steps.len()).map(arrow).collect(),
            reversals: Vec::new(),
        }
    }
}

fn access(step: &DeadlockStep, names: &Names<'_>) -> Access {
    Access {
        operation: "lock".into(),
        object: names.lock_name(step.lock),
        event: step.at.index.0,
        thread: names.thread(step.at.thread),
        stack: names.stack(step.at.location),
        held: vec![HeldLock {
            name: names.lock_name(step.held),
            shared: false,
            event: step.held_at.index.0,
            taken_at: names.stack(step.held_at.location),
        }],
        ..Access::default()
    }
}

/// `m1, m2: transfer waits for m2 while audit waits for m1`.
fn headline(objects: &[String], accesses: &[Access]) -> String {
    let waits = accesses.iter().map(|access| {
        let function = innermost_own(&access.stack).map(|frame| frame.function_name()).unwrap_or_default();
        let actor = if function.is_empty() { &access.thread.name } else { &function };
        format!("{actor} waits for {}", access.object)
    });
    format!("{}: {}", objects.join(", "), waits.collect::<Vec<_>>().join(" while "))
}

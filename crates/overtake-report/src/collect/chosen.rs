//! A witness cut down to the events that matter, so that the whole of it need not be kept.

use std::collections::BTreeSet;

use overtake_detect::witness::{self, Overtaken, Reversal, Row, Step};
use overtake_trace::{Action, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Steps of a witness that are kept.
const MOST_STEPS: usize = 400;

/// The events of a verified witness that matter.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// In the order of the witness, the two accesses last, the earlier one of the run first.
    pub(super) witness: Vec<Step>,
    /// Sections that the witness leaves out, as their acquires and releases.
    pub(super) left_out: Vec<Step>,
    pub(super) overtaken: Vec<Overtaken>,
    /// Sections that the witness takes in another order than the run.
    pub(super) reversals: Vec<Reversal>,
    /// Writes with the reads that see them.
    pub(super) seen: Vec<(Step, Step)>,
}

impl Chosen {
    /// What matters of a schedule: what is held, handed over and overtaken, and the whole of sections that are begun.
    pub(super) fn of(schedule: &witness::Schedule) -> Chosen {
        let rows = witness::shorten(schedule, 0);
        let mut chosen: FxHashSet<Step> = rows
            .iter()
            .filter_map(|row| match row {
                Row::Step { step, .. } => Some(*step),
                Row::Omitted(_) => None,
            })
            .collect();
        complete_sections(schedule, &mut chosen);
        let steps = schedule.steps.iter().filter(|step| chosen.contains(step)).copied().collect();
        let steps = within_reason(steps, &schedule.overtaken);
        let left_out = schedule.overtaken.iter();
        let left_out = left_out.flat_map(|overtaken| [Some(overtaken.left_out), overtaken.left_out_end]);
        Chosen {
            witness: steps.into_iter().chain([schedule.first, schedule.second]).collect(),
            left_out: left_out.flatten().collect(),
            overtaken: schedule.overtaken.clone(),
            reversals: witness::reversals(&schedule.steps),
            seen: seen(schedule, &chosen),
        }
    }

    /// Every event.
    pub(super) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        self.witness.iter().chain(&self.left_out).copied()
    }
}

/// The last steps of a witness, and those that overtake: a result need not hold thousands that happened long before.
fn within_reason(steps: Vec<Step>, overtaken: &[Overtaken]) -> Vec<Step> {
    let first_kept = steps.len().saturating_sub(MOST_STEPS);
    let overtakes = |step: &Step| overtaken.iter().any(|overtaken| overtaken.by == *step);
    let numbered = steps.into_iter().enumerate();
    numbered.filter(|(at, step)| *at >= first_kept || overtakes(step)).map(|(_, step)| step).collect()
}

/// Adds the releases of the acquires that are chosen.
fn complete_sections(schedule: &witness::Schedule, chosen: &mut FxHashSet<Step>) {
    let mut open: BTreeSet<(ThreadId, u32)> = BTreeSet::new();
    for step in &schedule.steps {
        let key = (step.event.thread(), step.event.operand());
        match step.event.action() {
            Action::Acquire(_) | Action::AcquireShared(_) if chosen.contains(step) => {
                open.insert(key);
            }
            Action::Release(_) | Action::ReleaseShared(_) if open.remove(&key) => {
                chosen.insert(*step);
            }
            _ => {}
        }
    }
}

/// Chosen writes with the chosen reads of other threads that see them.
fn seen(schedule: &witness::Schedule, chosen: &FxHashSet<Step>) -> Vec<(Step, Step)> {
    let mut last_writes: FxHashMap<VarId, Step> = FxHashMap::default();
    let mut seen = Vec::new();
    for step in &schedule.steps {
        if let Action::Read(var) | Action::Load(var, _) | Action::Rmw(var, _) = step.event.action()
            && let Some(write) = last_writes.get(&var)
            && write.event.thread() != step.event.thread()
            && chosen.contains(write)
            && chosen.contains(step)
        {
            seen.push((*write, *step));
        }
        if let Action::Write(var) | Action::Store(var, _) | Action::Rmw(var, _) = step.event.action() {
            last_writes.insert(var, *step);
        }
    }
    seen
}

#[cfg(test)]
mod tests {
    use overtake_trace::{Event, EventIndex, LocationId, LockId};

    use super::*;

    #[test]
    fn of_a_long_witness_the_end_and_what_overtakes_stay() {
        let step = |index: u64| Step {
            index: EventIndex(index),
            event: Event::new(ThreadId(0), Action::Acquire(LockId(0)), LocationId::UNKNOWN),
        };
        let steps: Vec<Step> = (0..5_000).map(step).collect();
        let overtaken = Overtaken { lock: LockId(0), left_out: step(7), left_out_end: None, by: step(9) };
        let kept = within_reason(steps, &[overtaken]);
        assert_eq!(kept.len(), MOST_STEPS + 1);
        assert_eq!((kept[0], kept[1]), (step(9), step(4_600)));
        assert_eq!(within_reason(vec![step(1)], &[]), [step(1)]);
    }
}

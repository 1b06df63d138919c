//! Critical sections that a schedule takes in another order than the run.

use overtake_trace::{Action, LockId, ThreadId};
use rustc_hash::FxHashMap;

use super::Step;

/// Two sections of a lock whose order is reversed: in the run the acquire came first, in the schedule it comes after the whole of the other section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reversal {
    /// The acquire that waits.
    pub acquire: Step,
    /// The acquire of the section that it waits for.
    pub since: Step,
    /// The release of that section.
    pub until: Step,
}

/// The acquires that have to wait for a section that came later in the run, in the order of the schedule. If an acquire waits for several sections, it is listed
/// with the one that ends last.
pub fn reversals(steps: &[Step]) -> Vec<Reversal> {
    let mut open: FxHashMap<(ThreadId, LockId), Step> = FxHashMap::default();
    // The last section of each thread.
    let mut closed: FxHashMap<LockId, Vec<(Step, Step)>> = FxHashMap::default();
    let mut reversals = Vec::new();
    for step in steps {
        let thread = step.event.thread();
        match step.event.action() {
            Action::Acquire(lock) | Action::AcquireShared(lock) => {
                let waits_for = |(since, until): &&(Step, Step)| {
                    until.event.thread() != thread && until.index > step.index && excludes(since, step)
                };
                let found = closed.get(&lock).and_then(|sections| sections.iter().rev().find(waits_for));
                reversals.extend(found.map(|&(since, until)| Reversal { acquire: *step, since, until }));
                open.insert((thread, lock), *step);
            }
            Action::Release(lock) | Action::ReleaseShared(lock) => {
                if let Some(since) = open.remove(&(thread, lock)) {
                    let sections = closed.entry(lock).or_default();
                    sections.retain(|(_, until)| until.event.thread() != thread);
                    sections.push((since, *step));
                }
            }
            _ => {}
        }
    }
    reversals
}

/// Whether two sections of a lock cannot overlap.
fn excludes(one: &Step, other: &Step) -> bool {
    let is_shared = |step: &Step| matches!(step.event.action(), Action::AcquireShared(_));
    !(is_shared(one) && is_shared(other))
}

#[cfg(test)]
mod tests {
    use overtake_trace::{Event, EventIndex, LocationId};

    use super::*;

    const LOCK: LockId = LockId(0);

    /// Steps from their indices in the run, threads and actions.
    fn steps<const N: usize>(rows: [(u64, u32, Action); N]) -> [Step; N] {
        rows.map(|(index, thread, action)| Step {
            index: EventIndex(index),
            event: Event::new(ThreadId(thread), action, LocationId::UNKNOWN),
        })
    }

    #[test]
    fn an_acquire_waits_for_the_section_that_came_later_in_the_run() {
        let steps = steps([
            (4, 2, Action::Acquire(LOCK)),
            (5, 2, Action::Release(LOCK)),
            (0, 1, Action::Acquire(LOCK)),
        ]);
        let [since, until, acquire] = steps;
        assert_eq!(reversals(&steps), [Reversal { acquire, since, until }]);
    }

    #[test]
    fn what_comes_as_in_the_run_or_excludes_nobody_waits_for_nothing() {
        for (first, then, index) in [
            (Action::Acquire(LOCK), Action::Acquire(LOCK), 6), // as in the run
            (Action::Acquire(LOCK), Action::Acquire(LockId(1)), 0),
            (Action::AcquireShared(LOCK), Action::AcquireShared(LOCK), 0),
        ] {
            let release = match first {
                Action::AcquireShared(lock) => Action::ReleaseShared(lock),
                _ => Action::Release(LOCK),
            };
            assert_eq!(reversals(&steps([(4, 2, first), (5, 2, release), (index, 1, then)])), []);
        }
    }
}

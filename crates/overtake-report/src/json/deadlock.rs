//! Deadlocks as a detector found them.

use overtake_detect::{At, Deadlock, DeadlockStep, Group};
use overtake_trace::{LockId, Symbols};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct DeadlockForm {
    id: u32,
    verdict: &'static str,
    threads: Vec<ThreadForm>,
    count: u64,
}

/// What one thread of a deadlock does.
#[derive(Serialize)]
struct ThreadForm {
    thread: String,
    holds: AcquireForm,
    waits_for: AcquireForm,
}

#[derive(Serialize)]
struct AcquireForm {
    lock: String,
    index: u64,
    location: Option<String>,
}

impl DeadlockForm {
    pub(super) fn of(group: &Group<Deadlock>, symbols: &Symbols) -> DeadlockForm {
        DeadlockForm::new(group.id, &group.example, group.count, symbols)
    }

    pub(super) fn new(id: u32, deadlock: &Deadlock, count: u64, symbols: &Symbols) -> DeadlockForm {
        let thread = |step: &DeadlockStep| ThreadForm {
            thread: symbols.threads.display(step.at.thread),
            holds: AcquireForm::of(step.held, step.held_at, symbols),
            waits_for: AcquireForm::of(step.lock, step.at, symbols),
        };
        DeadlockForm {
            id,
            verdict: deadlock.verdict.word(),
            threads: deadlock.steps.iter().map(thread).collect(),
            count,
        }
    }
}

impl AcquireForm {
    fn of(lock: LockId, at: At, symbols: &Symbols) -> AcquireForm {
        AcquireForm {
            lock: symbols.locks.display(lock),
            index: at.index.0,
            location: at.location.is_known().then(|| symbols.location_name(at.location)),
        }
    }
}

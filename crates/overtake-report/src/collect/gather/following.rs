//! A thread that races: the locks it holds and its last synchronisation events.

use std::collections::VecDeque;

use overtake_trace::{Action, LockId};

use super::super::facts::{Facts, Held, Placed};

/// Synchronisation events of a thread that are remembered.
const REMEMBERED: usize = 64;
/// Different synchronisation events before an access that are listed.
const BEFORE: usize = 3;
/// Synchronisation events after an access among which common locks are looked for.
const AFTERMATH: usize = 8;

/// A thread that races.
#[derive(Default)]
pub(super) struct Following {
    pub(super) held: Vec<Held>,
    /// The last synchronisation events.
    recent: VecDeque<Placed>,
    /// Scenes that still want to know what comes after: finding, which of the two, up to which event.
    open: Vec<(usize, usize, u64)>,
}

impl Following {
    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.held.clear();
        self.recent.clear();
        self.open.clear();
    }

    /// Notes what comes after one access of a finding, up to an event.
    pub(super) fn open(&mut self, finding: usize, side: usize, until: u64) {
        self.open.push((finding, side, until));
    }

    /// Takes a synchronisation event of the thread.
    pub(super) fn take(&mut self, placed: Placed, is_near: bool, facts: &mut [Facts]) {
        if !self.open.is_empty() {
            self.open.retain(|&(finding, side, until)| {
                let after = &mut facts[finding].scenes[side].after;
                let is_near = placed.step.index.0 <= until;
                after.extend(is_near.then_some(placed));
                is_near && after.len() < AFTERMATH
            });
        }
        if is_near {
            if self.recent.len() == REMEMBERED {
                self.recent.pop_front();
            }
            self.recent.push_back(placed);
        }
        match placed.step.event.action() {
            Action::Acquire(lock) => self.acquire(lock, false, placed),
            Action::AcquireShared(lock) => self.acquire(lock, true, placed),
            Action::Release(lock) | Action::ReleaseShared(lock) => {
                self.held.retain(|held| held.lock != lock);
            }
            _ => {}
        }
    }

    fn acquire(&mut self, lock: LockId, shared: bool, acquire: Placed) {
        self.held.push(Held { lock, shared, acquire: Some(acquire) });
    }

    /// What is remembered from an event on.
    pub(super) fn recent_from(&self, from: u64) -> impl DoubleEndedIterator<Item = &Placed> {
        self.recent.iter().filter(move |placed| placed.step.index.0 >= from)
    }

    /// The last different events, in their order: of what a loop repeats, once is enough.
    pub(super) fn last_different(&self, from: u64) -> Vec<Placed> {
        let mut last: Vec<Placed> = Vec::new();
        for placed in self.recent_from(from).rev() {
            if last.iter().all(|known| known.step.event != placed.step.event) {
                last.push(*placed);
            }
            if last.len() == BEFORE {
                break;
            }
        }
        last.reverse();
        last
    }
}

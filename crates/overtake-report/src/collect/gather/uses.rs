//! What a thread used last: locks, atomics and objects to wait for.

use overtake_trace::{Action, EventIndex, LockId, SyncId};

use super::super::facts::{AtomicUse, LockUse, Placed};

/// The entries of one side that the other has, too, each with the other's.
pub(super) fn both<T: Copy>(one: Vec<T>, other: &[T], is_same: impl Fn(&T, &T) -> bool) -> Vec<[T; 2]> {
    let pair = |used: T| Some([used, *other.iter().find(|theirs| is_same(&used, theirs))?]);
    one.into_iter().filter_map(pair).collect()
}

/// The latest section of each lock among the events of a thread, the latest lock first.
pub(super) fn lock_uses(events: &[Placed]) -> Vec<LockUse> {
    let mut uses: Vec<LockUse> = Vec::new();
    let mut releases: Vec<(LockId, EventIndex)> = Vec::new();
    for placed in events.iter().rev() {
        match placed.step.event.action() {
            Action::Release(lock) | Action::ReleaseShared(lock)
                if releases.iter().all(|(known, _)| *known != lock) =>
            {
                releases.push((lock, placed.step.index));
            }
            Action::Acquire(lock) | Action::AcquireShared(lock)
                if uses.iter().all(|used| used.lock != lock) =>
            {
                let release = releases.iter().find(|(known, _)| *known == lock).map(|(_, index)| *index);
                uses.push(LockUse { lock, acquire: *placed, release });
            }
            _ => {}
        }
    }
    uses
}

/// The latest access of a thread to each atomic, the latest first.
pub(super) fn atomic_uses(events: &[Placed]) -> Vec<AtomicUse> {
    let mut uses: Vec<AtomicUse> = Vec::new();
    for placed in events.iter().rev() {
        if let Action::Load(var, order) | Action::Store(var, order) | Action::Rmw(var, order) =
            placed.step.event.action()
            && uses.iter().all(|used| used.var != var)
        {
            uses.push(AtomicUse { var, order, access: *placed });
        }
    }
    uses
}

/// The objects that a thread posted or waited for, the latest first.
pub(super) fn objects(events: &[Placed]) -> Vec<SyncId> {
    let mut objects = Vec::new();
    for placed in events.iter().rev() {
        if let Action::Post(object) | Action::Wait(object) = placed.step.event.action()
            && !objects.contains(&object)
        {
            objects.push(object);
        }
    }
    objects
}

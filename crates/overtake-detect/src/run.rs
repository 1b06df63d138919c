//! The event loop. It exists once; everything that walks over a trace goes through [`feed`].

use overtake_trace::{Action, ArrayId, Checked, EventIndex, IdVec, VarId, Variable};

use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::race::RaceLog;

/// Which heap blocks have been allocated so far: state of the loop, kept from block to block.
#[derive(Default, Debug)]
pub struct LiveBlocks {
    allocated: IdVec<ArrayId, bool>,
    any: bool,
}

impl LiveBlocks {
    /// No block allocated yet.
    pub fn new() -> LiveBlocks {
        LiveBlocks::default()
    }

    fn alloc(&mut self, checked: &Checked<'_>, block: VarId) {
        if let Variable::Block(array) = checked.symbols().variables.get(block) {
            *self.allocated.entry(array) = true;
            self.any = true;
        }
    }

    /// The variable of the allocated block that `var` lies in.
    ///
    /// An access to an element reads this variable as well, and `free` writes it: so a free conflicts with every access
    /// to its block, and accesses do not conflict with each other by it.
    #[inline]
    fn block_of(&self, checked: &Checked<'_>, var: VarId) -> Option<VarId> {
        if !self.any {
            return None;
        }
        let variables = &checked.symbols().variables;
        let Variable::Element { array, .. } = variables.get(var) else { return None };
        let allocated = self.allocated.get(array).copied().unwrap_or(false);
        allocated.then(|| variables.array_facts(array).block).flatten()
    }
}

/// Hands every event of a checked block to the detector.
pub fn feed<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    checked: &Checked<'_>,
    races: &mut RaceLog,
) {
    detector.reserve(&checked.symbols().sizes());
    let variables = &checked.symbols().variables;
    for run in checked.runs() {
        for (offset, event) in run.events.iter().enumerate() {
            let index = EventIndex(run.first.0 + offset as u64);
            let at = At { index, thread: event.thread(), location: event.location() };
            // One match, not one for accesses and one for the rest: a jump that depends on the operation is mispredicted
            // for every other event or so.
            let accessed = match event.action() {
                Action::Read(var) => {
                    detector.locate(at.thread, var, AccessKind::Read, variables);
                    detector.read(at, var, races);
                    var
                }
                Action::Write(var) => {
                    detector.locate(at.thread, var, AccessKind::Write, variables);
                    detector.write(at, var, AccessKind::Write, races);
                    var
                }
                Action::Load(var, order) => {
                    detector.locate(at.thread, var, AccessKind::Load, variables);
                    detector.atomic(at, var, AccessKind::Load, order, races);
                    var
                }
                Action::Store(var, order) => {
                    detector.locate(at.thread, var, AccessKind::Store, variables);
                    detector.atomic(at, var, AccessKind::Store, order, races);
                    var
                }
                Action::Rmw(var, order) => {
                    detector.locate(at.thread, var, AccessKind::Rmw, variables);
                    detector.atomic(at, var, AccessKind::Rmw, order, races);
                    var
                }
                Action::Acquire(lock) => {
                    detector.acquire(at, lock, LockMode::Exclusive);
                    continue;
                }
                Action::Release(lock) => {
                    detector.release(at, lock, LockMode::Exclusive);
                    continue;
                }
                other => {
                    rare_event(detector, blocks, checked, at, other, races);
                    continue;
                }
            };
            if let Some(block) = blocks.block_of(checked, accessed) {
                detector.locate(at.thread, block, AccessKind::Read, variables);
                detector.read(at, block, races);
            }
        }
    }
}

/// Events that are neither accesses to named locations and elements nor operations of exclusive locks.
#[inline(never)]
fn rare_event<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    checked: &Checked<'_>,
    at: At,
    action: Action,
    races: &mut RaceLog,
) {
    match action {
        Action::AcquireShared(lock) => detector.acquire(at, lock, LockMode::Shared),
        Action::ReleaseShared(lock) => detector.release(at, lock, LockMode::Shared),
        Action::Fork(child) => detector.fork(at, child),
        Action::Join(child) => detector.join(at, child),
        Action::Fence(order) => detector.fence(at, order),
        Action::Post(object) => detector.post(at, object),
        Action::Wait(object) => detector.wait(at, object),
        Action::Free(block) => {
            detector.locate(at.thread, block, AccessKind::Free, &checked.symbols().variables);
            detector.write(at, block, AccessKind::Free, races);
        }
        Action::Alloc(block) => {
            blocks.alloc(checked, block);
            detector.other(at);
        }
        _ => detector.other(at),
    }
}

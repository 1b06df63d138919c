//! The event loop. It exists once; everything that walks over a trace goes through [`feed`].

use std::ops::Range;

use overtake_trace::{Action, ArrayId, Checked, Event, EventIndex, IdVec, Op, Symbols, VarId, Variable};

use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::race::RaceLog;

/// Which heap blocks have been allocated so far: state of the loop, kept from block to block.
#[derive(Default, Debug)]
pub struct LiveBlocks {
    /// The window in which a block was allocated; none if it was not.
    allocated: IdVec<ArrayId, Option<u32>>,
    any: bool,
    window: u32,
}

impl LiveBlocks {
    /// No block allocated yet.
    pub fn new() -> LiveBlocks {
        LiveBlocks::default()
    }

    /// Forgets all blocks, in O(1): another window of the trace begins.
    pub(crate) fn begin_window(&mut self) {
        if self.any {
            self.any = false;
            self.window = self.window.wrapping_add(1);
        }
    }

    pub(crate) fn alloc(&mut self, symbols: &Symbols, block: VarId) {
        if let Variable::Block(array) = symbols.variables.get(block) {
            *self.allocated.entry(array) = Some(self.window);
            self.any = true;
        }
    }

    /// The variable of the allocated block that `var` lies in.
    ///
    /// An access to an element reads this variable as well, and `free` writes it: so a free conflicts with every access
    /// to its block, and accesses do not conflict with each other by it.
    #[inline]
    fn block_of(&self, symbols: &Symbols, var: VarId) -> Option<VarId> {
        if !self.any {
            return None;
        }
        let variables = &symbols.variables;
        let Variable::Element { array, .. } = variables.get(var) else { return None };
        let allocated = self.allocated.get(array).copied().flatten() == Some(self.window);
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
    feed_range(detector, blocks, checked, 0..u64::MAX, races);
}

/// Hands the events of a checked block whose indices lie in `range` to the detector.
pub(crate) fn feed_range<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    checked: &Checked<'_>,
    range: Range<u64>,
    races: &mut RaceLog,
) {
    detector.reserve(&checked.symbols().sizes());
    for run in checked.runs().map(|run| run.within(&range)) {
        for (offset, event) in run.events.iter().enumerate() {
            let index = EventIndex(run.first.0 + offset as u64);
            feed_event(detector, blocks, checked.symbols(), index, event, races);
        }
    }
}

/// Hands one event to the detector.
#[inline(always)]
pub(crate) fn feed_event<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    symbols: &Symbols,
    index: EventIndex,
    event: &Event,
    races: &mut RaceLog,
) {
    let at = At { index, thread: event.thread(), location: event.location() };
    // One match, not one for accesses and one for the rest: a jump that depends on the operation is mispredicted for every
    // other event or so.
    let accessed = match event.action() {
        Action::Read(var) | Action::Write(var) if D::PLAIN_ALIKE => {
            let kind = if event.op() == Op::Read { AccessKind::Read } else { AccessKind::Write };
            detector.locate(at.thread, var, kind, &symbols.variables);
            detector.plain(at, var, kind, races);
            var
        }
        Action::Read(var) => {
            detector.locate(at.thread, var, AccessKind::Read, &symbols.variables);
            detector.read(at, var, races);
            var
        }
        Action::Write(var) => {
            detector.locate(at.thread, var, AccessKind::Write, &symbols.variables);
            detector.write(at, var, AccessKind::Write, races);
            var
        }
        Action::Load(var, order) => {
            detector.locate(at.thread, var, AccessKind::Load, &symbols.variables);
            detector.atomic(at, var, AccessKind::Load, order, races);
            var
        }
        Action::Store(var, order) => {
            detector.locate(at.thread, var, AccessKind::Store, &symbols.variables);
            detector.atomic(at, var, AccessKind::Store, order, races);
            var
        }
        Action::Rmw(var, order) => {
            detector.locate(at.thread, var, AccessKind::Rmw, &symbols.variables);
            detector.atomic(at, var, AccessKind::Rmw, order, races);
            var
        }
        Action::Acquire(lock) => return detector.acquire(at, lock, LockMode::Exclusive),
        Action::Release(lock) => return detector.release(at, lock, LockMode::Exclusive),
        other => return rare_event(detector, blocks, symbols, at, other, races),
    };
    if let Some(block) = blocks.block_of(symbols, accessed) {
        detector.locate(at.thread, block, AccessKind::Read, &symbols.variables);
        detector.read(at, block, races);
    }
}

/// Events that are neither accesses to named locations and elements nor operations of exclusive locks.
#[inline(never)]
fn rare_event<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    symbols: &Symbols,
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
            // In a window of a trace the block may have been allocated before.
            blocks.alloc(symbols, block);
            detector.locate(at.thread, block, AccessKind::Free, &symbols.variables);
            detector.write(at, block, AccessKind::Free, races);
        }
        Action::Alloc(block) => {
            blocks.alloc(symbols, block);
            detector.other(at);
        }
        _ => detector.other(at),
    }
}

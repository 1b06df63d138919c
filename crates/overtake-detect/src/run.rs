//! The event loop. It exists once; everything that walks over a trace goes through [`feed`].

use std::ops::Range;

use overtake_trace::{Action, ArrayId, Checked, Event, EventIndex, IdVec, Op, Symbols, VarId, Variable};

use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;

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
    fn block_of(&self, symbols: &Symbols, var: VarId) -> Option<VarId> {
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
    findings: &mut Findings,
) {
    feed_range(detector, blocks, checked, 0..u64::MAX, findings);
}

/// Hands the events of a checked block whose indices lie in `range` to the detector.
pub(crate) fn feed_range<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    checked: &Checked<'_>,
    range: Range<u64>,
    findings: &mut Findings,
) {
    detector.reserve(&checked.symbols().sizes());
    for run in checked.runs().map(|run| run.within(&range)) {
        for (offset, event) in run.events.iter().enumerate() {
            let index = EventIndex(run.first.0 + offset as u64);
            feed_event(detector, blocks, checked.symbols(), index, event, findings);
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
    findings: &mut Findings,
) {
    // Made where it is used: a call that takes it wants it in memory, and then every event would put it there.
    let at = || At { index, thread: event.thread(), location: event.location() };
    // One match, not one for accesses and one for the rest: a jump that depends on the operation is mispredicted for every
    // other event or so.
    match event.action() {
        Action::Read(var) | Action::Write(var) if D::PLAIN_ALIKE => {
            let kind = if event.op() == Op::Read { AccessKind::Read } else { AccessKind::Write };
            detector.locate(event.thread(), var, kind, &symbols.variables);
            detector.plain(at(), var, kind, findings);
        }
        Action::Read(var) => {
            detector.locate(event.thread(), var, AccessKind::Read, &symbols.variables);
            detector.read(at(), var, findings);
        }
        Action::Write(var) => {
            detector.locate(event.thread(), var, AccessKind::Write, &symbols.variables);
            detector.write(at(), var, AccessKind::Write, findings);
        }
        Action::Acquire(lock) => return detector.acquire(at(), lock, LockMode::Exclusive, findings),
        Action::Release(lock) => return detector.release(at(), lock, LockMode::Exclusive, findings),
        _ => return rare_event(detector, blocks, symbols, index, event, findings),
    }
    if blocks.any {
        read_block(detector, blocks, symbols, index, event, findings);
    }
}

/// An access to an element of an allocated block reads the block as well.
#[inline(never)]
fn read_block<D: Detector>(
    detector: &mut D,
    blocks: &LiveBlocks,
    symbols: &Symbols,
    index: EventIndex,
    event: &Event,
    findings: &mut Findings,
) {
    if let Some(block) = blocks.block_of(symbols, VarId(event.operand())) {
        let at = At { index, thread: event.thread(), location: event.location() };
        detector.locate(at.thread, block, AccessKind::Read, &symbols.variables);
        detector.read(at, block, findings);
    }
}

/// Events that are neither plain accesses nor operations of exclusive locks.
#[inline(never)]
fn rare_event<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    symbols: &Symbols,
    index: EventIndex,
    event: &Event,
    findings: &mut Findings,
) {
    let at = At { index, thread: event.thread(), location: event.location() };
    let (var, kind, order) = match event.action() {
        Action::Load(var, order) => (var, AccessKind::Load, order),
        Action::Store(var, order) => (var, AccessKind::Store, order),
        Action::Rmw(var, order) => (var, AccessKind::Rmw, order),
        Action::AcquireShared(lock) => return detector.acquire(at, lock, LockMode::Shared, findings),
        Action::ReleaseShared(lock) => return detector.release(at, lock, LockMode::Shared, findings),
        Action::Fork(child) => return detector.fork(at, child, findings),
        Action::Join(child) => return detector.join(at, child, findings),
        Action::Fence(order) => return detector.fence(at, order, findings),
        Action::Post(object) => return detector.post(at, object, findings),
        Action::Wait(object) => return detector.wait(at, object, findings),
        Action::Free(block) => {
            // In a window of a trace the block may have been allocated before.
            blocks.alloc(symbols, block);
            detector.locate(at.thread, block, AccessKind::Free, &symbols.variables);
            return detector.write(at, block, AccessKind::Free, findings);
        }
        Action::Alloc(block) => {
            blocks.alloc(symbols, block);
            return detector.other(at, findings);
        }
        _ => return detector.other(at, findings),
    };
    detector.locate(at.thread, var, kind, &symbols.variables);
    detector.atomic(at, var, kind, order, findings);
    if blocks.any {
        read_block(detector, blocks, symbols, index, event, findings);
    }
}

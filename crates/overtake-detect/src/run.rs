//! The event loop. It exists once: every detector and every visitor gets its events from [`visit`]. Only code that looks at single events
//! which it has kept does without it: `witness/`, whose checker shares no code with detectors on purpose, and `sampling/rpt/predict.rs`.
//!
//! **Sweeps.** A loop over an array makes plain accesses of one thread at one location to variables with consecutive numbers. Visitors that say
//! so ([`Visitor::TAKES_SWEEPS`]) get such accesses whole. A sweep means what its accesses mean one by one, and its events have the indices that they
//! have in the trace. For all others the loop does not look for sweeps.

use std::ops::Range;

use overtake_rules::LockMode;
use overtake_trace::{
    Action, ArrayId, Block, Checked, Checker, Event, EventIndex, EventSource, Id, Op, Result, Symbols, VarId,
    Variable,
};

use crate::access::{AccessKind, At};
use crate::detector::Detector;
use crate::findings::Findings;
use crate::visitor::{Reporting, Touch, Visitor};

#[cfg(test)]
mod tests;

/// Which heap blocks have been allocated so far: state of the loop, kept from block to block.
#[derive(Clone, Default, Debug)]
pub struct LiveBlocks {
    /// A bit for each array: whether it is an allocated block.
    allocated: Vec<u64>,
    /// The words of `allocated` that are not zero.
    touched: Vec<u32>,
    any: bool,
    /// No block is noted.
    unwanted: bool,
}

impl LiveBlocks {
    /// No block allocated yet.
    pub fn new() -> LiveBlocks {
        LiveBlocks::default()
    }

    /// All blocks allocated: for a stretch of a trace, where it is not known what was allocated before.
    pub(crate) fn all(symbols: &Symbols) -> LiveBlocks {
        let mut blocks = LiveBlocks::new();
        let arrays = (0..symbols.variables.array_count()).map(ArrayId::from_index);
        arrays
            .filter_map(|array| symbols.variables.block_of(array))
            .for_each(|block| blocks.alloc(symbols, block));
        blocks
    }

    /// A block is not allocated yet.
    pub(crate) fn take_back(&mut self, symbols: &Symbols, block: VarId) {
        if let Variable::Block(array) = symbols.variables.get(block)
            && let Some(word) = self.allocated.get_mut(array.index() / 64)
        {
            *word &= !(1 << (array.index() % 64));
        }
    }

    /// From now on no block counts as allocated: for passes in which blocks cannot matter.
    pub(crate) fn leave_out(&mut self) {
        (self.unwanted, self.any) = (true, false);
    }

    /// Forgets all blocks: another window of the trace begins.
    pub(crate) fn begin_window(&mut self) {
        self.any = false;
        for word in self.touched.drain(..) {
            self.allocated[word as usize] = 0;
        }
    }

    pub(crate) fn alloc(&mut self, symbols: &Symbols, block: VarId) {
        if !self.unwanted
            && let Variable::Block(array) = symbols.variables.get(block)
        {
            let (word, bit) = (array.index() / 64, array.index() % 64);
            if word >= self.allocated.len() {
                self.allocated.resize(word + 1, 0);
            }
            if self.allocated[word] == 0 {
                self.touched.push(word as u32);
            }
            self.allocated[word] |= 1 << bit;
            self.any = true;
        }
    }

    /// The variable of the allocated block that `var` lies in ([`Touch::block`]).
    #[inline]
    fn block_of(&self, symbols: &Symbols, var: VarId) -> Option<VarId> {
        let array = symbols.variables.array_of(var)?;
        let word = *self.allocated.get(array.index() / 64)?;
        if word >> (array.index() % 64) & 1 == 1 { symbols.variables.block_of(array) } else { None }
    }
}

/// Hands every event of a checked block to the detector.
pub fn feed<D: Detector>(
    detector: &mut D,
    blocks: &mut LiveBlocks,
    checked: &Checked<'_>,
    findings: &mut Findings,
) {
    visit(&mut Reporting { detector, findings }, blocks, checked);
}

/// Hands every event of a checked block to the visitor.
pub fn visit<V: Visitor>(visitor: &mut V, blocks: &mut LiveBlocks, checked: &Checked<'_>) {
    if let Some(events) = checked.scattered() {
        visitor.reserve(&checked.sizes());
        for (index, event) in events {
            visit_event(visitor, blocks, checked.symbols(), index, event);
        }
        return;
    }
    visit_range(visitor, blocks, checked, 0..u64::MAX);
}

/// Hands the events of a checked block whose indices lie in `range` to the visitor.
pub(crate) fn visit_range<V: Visitor>(
    visitor: &mut V,
    blocks: &mut LiveBlocks,
    checked: &Checked<'_>,
    range: Range<u64>,
) {
    visitor.reserve(&checked.sizes());
    for run in checked.runs().map(|run| run.within(&range)) {
        let mut offset = 0;
        while let Some(event) = run.events.get(offset) {
            let index = EventIndex(run.first.0 + offset as u64);
            if V::TAKES_SWEEPS
                && !expands_sweeps()
                && let Some(count) = sweep_length(&run.events[offset..])
            {
                visit_sweep(visitor, blocks, checked.symbols(), index, event, count);
                offset += count;
            } else {
                visit_event(visitor, blocks, checked.symbols(), index, event);
                offset += 1;
            }
        }
    }
}

#[cfg(not(test))]
const fn expands_sweeps() -> bool {
    false
}

/// Tests compare sweeps with their accesses one by one.
#[cfg(test)]
fn expands_sweeps() -> bool {
    EXPANDS_SWEEPS.get()
}

#[cfg(test)]
thread_local! {
    static EXPANDS_SWEEPS: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Fewer accesses are no sweep.
const SHORTEST_SWEEP: usize = 4;

/// How long the sweep is that begins here, if one does.
#[inline(always)]
fn sweep_length(events: &[Event]) -> Option<usize> {
    let [first, second, third, fourth, ..] = events else { return None };
    if !second.continues(first) || !third.continues(second) || !fourth.continues(third) {
        return None;
    }
    let followed = events.windows(2).skip(SHORTEST_SWEEP - 1);
    Some(SHORTEST_SWEEP + followed.take_while(|pair| pair[1].continues(&pair[0])).count())
}

/// Hands a sweep to the visitor, in parts that lie in one heap block or in none.
#[inline(never)]
fn visit_sweep<V: Visitor>(
    visitor: &mut V,
    blocks: &LiveBlocks,
    symbols: &Symbols,
    index: EventIndex,
    first: &Event,
    count: usize,
) {
    let variables = &symbols.variables;
    let kind = if first.op() == Op::Read { AccessKind::Read } else { AccessKind::Write };
    let at = At { index, thread: first.thread(), location: first.location() };
    let mut done = 0;
    while done < count {
        let var = VarId(first.operand() + done as u32);
        let (part, block) = match blocks.any {
            true => (variables.alike(var, count - done), blocks.block_of(symbols, var)),
            false => (count - done, None),
        };
        let touch = Touch { var, kind, order: None, block, variables };
        visitor.sweep(at.later(done as u32), touch, part as u32);
        done += part;
    }
}

/// Hands one event to the visitor.
#[inline(always)]
pub(crate) fn visit_event<V: Visitor>(
    visitor: &mut V,
    blocks: &mut LiveBlocks,
    symbols: &Symbols,
    index: EventIndex,
    event: &Event,
) {
    // Built where it is used: a call takes it in memory, and if it were built here, every event would store it there.
    let at = || At { index, thread: event.thread(), location: event.location() };
    // One match, not one for accesses and one for the rest: a jump that depends on the operation is mispredicted for every
    // other event or so. For the same reason reads and writes share an arm.
    match event.action() {
        Action::Read(var) | Action::Write(var) => {
            if !V::SEES_PLAIN_ACCESSES {
                return;
            }
            if blocks.any {
                return access_in_block(visitor, blocks, symbols, index, event);
            }
            let kind = if event.op() == Op::Read { AccessKind::Read } else { AccessKind::Write };
            let touch = Touch { var, kind, order: None, block: None, variables: &symbols.variables };
            visitor.access(at(), touch);
        }
        Action::Acquire(lock) => {
            if event.is_try() {
                visitor.tries(at());
            }
            visitor.acquire(at(), lock, LockMode::Exclusive);
        }
        Action::Release(lock) => visitor.release(at(), lock, LockMode::Exclusive),
        _ => rare_event(visitor, blocks, symbols, index, event),
    }
}

/// A plain access while heap blocks are allocated: it may lie in one.
#[inline(never)]
fn access_in_block<V: Visitor>(
    visitor: &mut V,
    blocks: &LiveBlocks,
    symbols: &Symbols,
    index: EventIndex,
    event: &Event,
) {
    let (var, variables) = (VarId(event.operand()), &symbols.variables);
    let kind = if event.op() == Op::Read { AccessKind::Read } else { AccessKind::Write };
    let touch = Touch { var, kind, order: None, block: blocks.block_of(symbols, var), variables };
    visitor.access(At { index, thread: event.thread(), location: event.location() }, touch);
}

/// Events that are neither plain accesses nor operations of exclusive locks.
#[inline(never)]
fn rare_event<V: Visitor>(
    visitor: &mut V,
    blocks: &mut LiveBlocks,
    symbols: &Symbols,
    index: EventIndex,
    event: &Event,
) {
    let at = At { index, thread: event.thread(), location: event.location() };
    let (var, kind, order) = match event.action() {
        Action::Load(var, order) => (var, AccessKind::Load, Some(order)),
        Action::Store(var, order) => (var, AccessKind::Store, Some(order)),
        Action::Rmw(var, order) => (var, AccessKind::Rmw, Some(order)),
        Action::AcquireShared(lock) => {
            if event.is_try() {
                visitor.tries(at);
            }
            return visitor.acquire(at, lock, LockMode::Shared);
        }
        Action::ReleaseShared(lock) => return visitor.release(at, lock, LockMode::Shared),
        Action::Fork(child) => return visitor.fork(at, child),
        Action::Join(child) => return visitor.join(at, child),
        Action::Fence(order) => return visitor.fence(at, order),
        Action::Post(object) => return visitor.post(at, object),
        Action::Wait(object) => return visitor.wait(at, object),
        Action::Free(block) => {
            // In a window of a trace the block may have been allocated before.
            blocks.alloc(symbols, block);
            (block, AccessKind::Free, None)
        }
        Action::Alloc(block) => {
            blocks.alloc(symbols, block);
            (block, AccessKind::Alloc, None)
        }
        Action::Request(lock) => return visitor.request(at, lock),
        _ => return visitor.other(at),
    };
    let block = if blocks.any { blocks.block_of(symbols, var) } else { None };
    visitor.access(at, Touch { var, kind, order, block, variables: &symbols.variables });
}

/// Hands out the blocks of a trace, mended where they need to be, up to the one with the event `last` or to the end.
pub(crate) fn read_checked(
    source: &mut dyn EventSource,
    last: Option<EventIndex>,
    mut take: impl FnMut(&Checked<'_>),
) -> Result<()> {
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        let end = block.first.0 + block.events.len() as u64;
        take(&checker.check(&mut block, source.symbols_mut())?);
        if last.is_some_and(|last| end > last.0) {
            break;
        }
    }
    Ok(())
}

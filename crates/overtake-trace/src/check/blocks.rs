//! Blocks of memory: each is allocated once, and freed at most once by each thread (two threads that free one block race). When a block
//! is allocated again, that is a new block with elements of its own.

use std::num::NonZeroU32;

use super::{Checker, Mode, Repair, skip};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::Event;
use crate::id::{ArrayId, EventIndex, VarId};
use crate::symbols::{Symbols, Variable};

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ArrayState {
    freed_by: Option<Packed>,
    incarnation: Option<Packed>,
    window: u32,
    allocated: bool,
    /// Accessed after a gap. If no allocation was seen, it is among the missing events.
    used: bool,
}

const _: () = assert!(size_of::<ArrayState>() == 16, "programs make millions of blocks");

/// A number that takes four bytes also where there may be none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Packed(NonZeroU32);

impl Packed {
    /// Tables have fewer than 4,294,967,295 entries.
    fn of(number: u32) -> Option<Packed> {
        number.checked_add(1).and_then(NonZeroU32::new).map(Packed)
    }

    fn number(self) -> u32 {
        self.0.get() - 1
    }
}

impl ArrayState {
    fn incarnation(&self) -> Option<ArrayId> {
        self.incarnation.map(|array| ArrayId(array.number()))
    }
}

impl Checker {
    pub(super) fn alloc(
        &mut self,
        event: Event,
        block: VarId,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let array = block_array(symbols, block, index)?;
        let mut current = self.array(array).incarnation().unwrap_or(array);
        let ArrayState { allocated, used, .. } = *self.array(current);
        if allocated {
            self.mend(Repair::ReusedBlock, index, || {
                format!("{} allocated again", block_name(symbols, array))
            })?;
        }
        if allocated || used {
            current = symbols.variables.fresh_array(array)?;
            self.arrays.grow_to(symbols.variables.array_count());
            self.array(array).incarnation = Packed::of(current.0);
            self.any_reused_blocks = true;
            self.ordinary.leave_accesses_out(true);
        }
        self.array(current).allocated = true;
        self.note_alloc(block);
        Ok(event.with_operand(symbols.variables.intern_block(current)?.0))
    }

    pub(super) fn free(
        &mut self,
        event: Event,
        block: VarId,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let array = block_array(symbols, block, index)?;
        // Mid-trace and after a gap, a block may have been allocated by an event that is not there.
        let is_mid_trace = self.mode == Mode::RepairMidTrace || self.gaps.are_any();
        let current = self.array(array).incarnation().unwrap_or(array);
        let state = self.array(current);
        if !(state.allocated || is_mid_trace) || state.freed_by == Packed::of(event.thread().0) {
            self.mend(Repair::UnallocatedFree, index, || {
                format!("{} freed but not allocated", block_name(symbols, array))
            })?;
            return Ok(skip(event));
        }
        let was_allocated = std::mem::replace(&mut state.allocated, true);
        state.freed_by = Packed::of(event.thread().0);
        self.note_free(block, event.thread(), was_allocated);
        Ok(event.with_operand(symbols.variables.intern_block(current)?.0))
    }

    /// Notes an access, if it may show that an allocation is lost.
    pub(super) fn note_use(&mut self, var: VarId, symbols: &Symbols) {
        if self.gaps.are_any()
            && let Variable::Element { array, .. } = symbols.variables.get(var)
        {
            self.array(array).used = true;
        }
    }

    pub(super) fn current_element(&self, var: VarId, symbols: &mut Symbols) -> Result<VarId> {
        if let Variable::Element { array, index } = symbols.variables.get(var)
            && let Some(state) = self.arrays.get(array)
            && state.window == self.window
            && let Some(current) = state.incarnation()
        {
            return symbols.variables.intern_element(current, index);
        }
        Ok(var)
    }

    /// The state of an array in this window.
    fn array(&mut self, array: ArrayId) -> &mut ArrayState {
        let state = &mut self.arrays[array];
        if state.window != self.window {
            *state = ArrayState { window: self.window, ..ArrayState::default() };
        }
        state
    }
}

fn block_array(symbols: &Symbols, block: VarId, index: EventIndex) -> Result<ArrayId> {
    match symbols.variables.get(block) {
        Variable::Block(array) => Ok(array),
        Variable::Named(_) | Variable::Element { .. } => Err(not_a_block(symbols, block, index)),
    }
}

fn block_name(symbols: &Symbols, array: ArrayId) -> String {
    format!("block `{}`", String::from_utf8_lossy(symbols.variables.array_name(array)))
}

#[cold]
fn not_a_block(symbols: &Symbols, var: VarId, index: EventIndex) -> Error {
    let message = format!("expected a block as operand, found variable `{}`", symbols.variables.display(var));
    Error::new(ErrorKind::IllFormed, Position::Event(index), message)
}

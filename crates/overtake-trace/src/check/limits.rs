//! W1: every id is within its table.

use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::{Event, Op, OperandKind};
use crate::id::{EventIndex, Id, LocationId};
use crate::symbols::Sizes;

/// The lengths of the tables, which all ids of an event must be below.
pub(super) struct Limits {
    threads: usize,
    locations: usize,
    /// The limit of operands for each operation: a look-up costs less than a jump that depends on the operation.
    operands: [usize; Op::ALL.len()],
}

impl Limits {
    pub(super) fn new(sizes: &Sizes) -> Limits {
        let operands = Op::ALL.map(|op| match op.operand_kind() {
            OperandKind::Variable => sizes.variables,
            OperandKind::Lock => sizes.locks,
            OperandKind::Thread => sizes.threads,
            OperandKind::Sync => sizes.objects,
            OperandKind::Marker => sizes.markers,
            OperandKind::None => usize::MAX,
        });
        Limits { threads: sizes.threads, locations: sizes.locations, operands }
    }

    /// W1.
    #[inline]
    pub(super) fn check(&self, event: &Event, index: EventIndex) -> Result<()> {
        let is_known = event.thread().index() < self.threads && self.hold(event);
        if is_known { Ok(()) } else { Err(unknown_id(event, index)) }
    }

    /// W1, except for the thread.
    #[inline(always)]
    pub(super) fn hold(&self, event: &Event) -> bool {
        const { assert!(LocationId::UNKNOWN.0 == u32::MAX) } // so that adding 1 gives 0
        let location = event.location().0.wrapping_add(1) as usize;
        (event.operand() as usize) < self.operands[event.op() as usize] && location <= self.locations
    }
}

#[cold]
fn unknown_id(event: &Event, index: EventIndex) -> Error {
    let message = format!(
        "{} by thread {} on operand {} at location {}: an id is outside its table",
        event.op().describe(),
        event.thread().0,
        event.operand(),
        event.location().0
    );
    Error::new(ErrorKind::IllFormed, Position::Event(index), message)
}

//! Atomic accesses and memory orders.

use overtake_rawlog::{Record, RecordKind, split_atomic_extra};
use overtake_trace::{Action, LocationId, MemoryOrder, ThreadId};

use super::Merger;
use crate::error::Result;

impl Merger {
    pub(super) fn atomic(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        let order = memory_order(split_atomic_extra(record.extra).1);
        let kind = record.kind;
        self.access(record, thread, location, false, |var| match kind {
            RecordKind::AtomicLoad => Action::Load(var, order),
            RecordKind::AtomicStore => Action::Store(var, order),
            _ => Action::Rmw(var, order),
        })?;
        Ok(())
    }
}

/// The memory order with this number in C.
pub(super) fn memory_order(number: u8) -> MemoryOrder {
    match number {
        0 => MemoryOrder::Relaxed,
        1 => MemoryOrder::Consume,
        2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}

//! Atomic accesses and memory orders.

use overtake_rawlog::{Record, RecordKind, split_atomic_extra};
use overtake_trace::{Action, LocationId, MemoryOrder, ThreadId};

use super::Merger;
use crate::error::Result;
use crate::scan::ranges;

impl Merger {
    pub(super) fn atomic(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        let order = memory_order(split_atomic_extra(record.extra).1);
        let action = |var| match record.kind {
            RecordKind::AtomicLoad => Action::Load(var, order),
            RecordKind::AtomicStore => Action::Store(var, order),
            _ => Action::Rmw(var, order),
        };
        for range in ranges(record) {
            self.access(range, thread, location, false, action)?;
        }
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

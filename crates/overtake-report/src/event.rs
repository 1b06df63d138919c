//! Events in words.

use overtake_trace::{Event, LockId, MarkerId, OperandKind, Symbols, SyncId, ThreadId, VarId};

/// The name of what an event is done to; empty if it has no operand.
pub(crate) fn operand_name(event: &Event, symbols: &Symbols) -> String {
    let number = event.operand();
    match event.op().operand_kind() {
        OperandKind::None => String::new(),
        OperandKind::Thread => symbols.threads.display(ThreadId(number)),
        OperandKind::Lock => symbols.locks.display(LockId(number)),
        OperandKind::Variable => symbols.variables.display(VarId(number)),
        OperandKind::Marker => symbols.markers.display(MarkerId(number)),
        OperandKind::Sync => object_name(SyncId(number), symbols),
    }
}

/// The name of a synchronisation object.
pub(crate) fn object_name(object: SyncId, symbols: &Symbols) -> String {
    let mut name = Vec::new();
    symbols.objects.write_name(object, &mut name);
    String::from_utf8_lossy(&name).into_owned()
}

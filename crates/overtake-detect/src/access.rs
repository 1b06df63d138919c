//! Accesses to variables, as races name them.

pub use overtake_rules::AccessKind;
pub(crate) use overtake_rules::Class;
use overtake_trace::{EventIndex, LocationId, ThreadId};

/// Where an event stands: its index, thread and source location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    /// Index in the input trace.
    pub index: EventIndex,
    /// The thread.
    pub thread: ThreadId,
    /// The source location.
    pub location: LocationId,
}

impl At {
    /// So many events later, at the same location of the same thread.
    #[inline]
    pub fn later(self, events: u32) -> At {
        At { index: EventIndex(self.index.0 + u64::from(events)), ..self }
    }
}

/// One access, as one side of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Where it stands.
    pub at: At,
    /// What it does.
    pub kind: AccessKind,
}

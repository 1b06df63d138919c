//! Accesses to variables, as races name them.

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

/// How an event touches a variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum AccessKind {
    /// Plain read.
    Read,
    /// Plain write.
    Write,
    /// Atomic load.
    Load,
    /// Atomic store.
    Store,
    /// Atomic read-modify-write.
    Rmw,
    /// The block that holds the variable is freed.
    Free,
}

impl AccessKind {
    /// Whether the access changes the variable.
    #[inline]
    pub fn writes(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::Load)
    }

    /// Whether the access sees the variable's value.
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::Load | AccessKind::Rmw)
    }

    /// Whether the access is atomic.
    #[inline]
    pub fn is_atomic(self) -> bool {
        matches!(self, AccessKind::Load | AccessKind::Store | AccessKind::Rmw)
    }

    /// Whether two accesses of different threads to one variable conflict: at least one writes, not both are atomic.
    #[inline]
    pub fn conflicts(self, other: AccessKind) -> bool {
        (self.writes() || other.writes()) && !(self.is_atomic() && other.is_atomic())
    }

    /// The access in words: `read`, `atomic store`, ...
    pub fn describe(self) -> &'static str {
        match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Load => "atomic load",
            AccessKind::Store => "atomic store",
            AccessKind::Rmw => "atomic read-modify-write",
            AccessKind::Free => "free",
        }
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

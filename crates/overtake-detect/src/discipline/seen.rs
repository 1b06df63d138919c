//! Accesses, packed.

use overtake_trace::{EventIndex, LocationId, ThreadId};

use crate::access::{Access, AccessKind, At, Class};

/// An access in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// The index, shifted, and the kind in the lowest bits.
    index_and_kind: u64,
    pub(super) thread: ThreadId,
    location: LocationId,
}

const KIND_BITS: u32 = 3;

impl Seen {
    pub(super) const NOTHING: Seen =
        Seen { index_and_kind: u64::MAX, thread: ThreadId(u32::MAX), location: LocationId::UNKNOWN };

    #[inline]
    pub(super) fn new(access: Access) -> Seen {
        let At { index, thread, location } = access.at;
        Seen { index_and_kind: index.0 << KIND_BITS | access.kind as u64, thread, location }
    }

    /// Whether this is an access, and of another thread than `other`.
    #[inline]
    pub(super) fn is_of_another_thread(self, other: Access) -> bool {
        self.thread != other.at.thread && self != Seen::NOTHING
    }

    /// The class of an access, which this is.
    #[inline]
    pub(super) fn class(self) -> Class {
        Class::of(self.kind().unwrap_or(AccessKind::Read))
    }

    #[inline]
    fn kind(self) -> Option<AccessKind> {
        AccessKind::ALL.get((self.index_and_kind & ((1 << KIND_BITS) - 1)) as usize).copied()
    }

    pub(super) fn access(self) -> Option<Access> {
        let kind = self.kind()?;
        let index = EventIndex(self.index_and_kind >> KIND_BITS);
        Some(Access { at: At { index, thread: self.thread, location: self.location }, kind })
    }
}

const _: () = assert!(size_of::<Seen>() == 16);

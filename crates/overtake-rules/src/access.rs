//! Accesses to variables, and which of them conflict.
//!
//! Two accesses of different threads to one variable conflict when at least one of them writes and they are not both atomic. An
//! `alloc` and a `free` write the block: they conflict with every access to it. A [`Class`] groups the kinds that conflict with the same
//! kinds, for detectors that keep one access of each class.

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
    /// The block that holds the variable is freed. It must have been allocated: a free also sees the write before it.
    Free,
    /// The block that holds the variable is allocated.
    Alloc,
}

impl AccessKind {
    /// Every kind, by its number.
    pub const ALL: [AccessKind; 7] = [
        AccessKind::Read,
        AccessKind::Write,
        AccessKind::Load,
        AccessKind::Store,
        AccessKind::Rmw,
        AccessKind::Free,
        AccessKind::Alloc,
    ];

    /// Whether the access changes the variable.
    #[inline]
    pub fn writes(self) -> bool {
        !matches!(self, AccessKind::Read | AccessKind::Load)
    }

    /// Whether the access sees the variable's value.
    #[inline]
    pub fn reads(self) -> bool {
        matches!(self, AccessKind::Read | AccessKind::Load | AccessKind::Rmw | AccessKind::Free)
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

    /// Whether everything that conflicts with an access of kind `other` conflicts with one of this kind.
    #[inline]
    pub fn dominates(self, other: AccessKind) -> bool {
        (self.writes() || !other.writes()) && (!self.is_atomic() || other.is_atomic())
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
            AccessKind::Alloc => "allocation",
        }
    }
}

/// Accesses that conflict with the same accesses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum Class {
    /// Plain writes, allocations and frees.
    PlainWrite = 0,
    /// Atomic stores and read-modify-writes.
    AtomicWrite = 1,
    /// Plain reads.
    PlainRead = 2,
    /// Atomic loads.
    AtomicLoad = 3,
}

impl Class {
    /// The class of accesses of a kind.
    #[inline]
    pub fn of(kind: AccessKind) -> Class {
        match kind {
            AccessKind::Write | AccessKind::Free | AccessKind::Alloc => Class::PlainWrite,
            AccessKind::Store | AccessKind::Rmw => Class::AtomicWrite,
            AccessKind::Read => Class::PlainRead,
            AccessKind::Load => Class::AtomicLoad,
        }
    }

    /// Whether accesses of these classes conflict, as [`AccessKind::conflicts`].
    #[inline]
    pub fn conflicts(self, other: Class) -> bool {
        self.conflicting() & other.bit() != 0
    }

    /// The bits of the classes that this one conflicts with.
    #[inline]
    pub fn conflicting(self) -> u8 {
        const CONFLICTS: [u8; 4] = [0b1111, 0b0101, 0b0011, 0b0001];
        CONFLICTS[self as usize]
    }

    /// The bit of this class in a set of classes.
    #[inline]
    pub const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// Whether two classes of a set conflict, or one class conflicts with itself.
    #[inline]
    pub fn any_conflict(set: u8) -> bool {
        const READS: u8 = Class::PlainRead.bit() | Class::AtomicLoad.bit();
        const ATOMICS: u8 = Class::AtomicWrite.bit() | Class::AtomicLoad.bit();
        set & !READS != 0 && set & !ATOMICS != 0
    }

    /// Whether this class conflicts with every class that `other` conflicts with.
    #[inline]
    pub fn supersedes(self, other: Class) -> bool {
        const SUPERSEDES: [u8; 4] = [0b1111, 0b1010, 0b1100, 0b1000];
        SUPERSEDES[self as usize] & other.bit() != 0
    }

    /// The last class that this one conflicts with. A search in the order of classes can stop there: reads, of which there may be
    /// many, come last and do not conflict with each other.
    #[inline]
    pub fn last_conflicting(self) -> Class {
        match self {
            Class::PlainWrite => Class::AtomicLoad,
            Class::AtomicWrite => Class::PlainRead,
            Class::PlainRead => Class::AtomicWrite,
            Class::AtomicLoad => Class::PlainWrite,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_classes_follow_from_what_conflicts() {
        let kinds = AccessKind::ALL;
        for a in kinds {
            for b in kinds {
                let (class_a, class_b) = (Class::of(a), Class::of(b));
                assert_eq!(class_a.conflicts(class_b), a.conflicts(b));
                let supersedes = kinds.iter().all(|&kind| a.conflicts(kind) || !b.conflicts(kind));
                assert_eq!(class_a.supersedes(class_b), supersedes);
                assert!(!a.conflicts(b) || class_b <= class_a.last_conflicting());
                let conflict = a.conflicts(b) || a.conflicts(a) || b.conflicts(b);
                assert_eq!(Class::any_conflict(class_a.bit() | class_b.bit()), conflict);
            }
        }
    }
}

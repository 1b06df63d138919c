//! Misuse: what a program does wrong with one operation, whatever other threads do.
//!
//! The recorder notes some of these faults when they happen, sealing finds the others. A trace has them as
//! [`Op::Misuse`](crate::Op::Misuse), whose operand is a marker. Its text is the kind's name, a comma and the object:
//! `unlock-of-unlocked,mutex`. Some kinds have no object. The checker collects them in [`Misuses`], whichever detectors run.

use rustc_hash::FxHashMap;

use crate::event::Event;
use crate::id::{EventIndex, LocationId, MarkerId};

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident = $name:literal;)*) => {
        /// What was done wrong.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        #[non_exhaustive]
        pub enum MisuseKind { $($(#[$doc])* $kind,)* }

        impl MisuseKind {
            /// Every kind.
            pub const ALL: &[MisuseKind] = &[$(MisuseKind::$kind),*];

            /// The name in traces, which is also the rule id of reports.
            pub fn name(self) -> &'static str {
                match self { $(MisuseKind::$kind => $name,)* }
            }
        }
    };
}

kinds! {
    /// A lock was released that nobody held.
    UnlockOfUnlocked = "unlock-of-unlocked";
    /// A lock was released that another thread held.
    UnlockByOther = "unlock-by-other";
    /// A lock that is not recursive was acquired again by the thread that held it.
    DoubleLock = "double-lock";
    /// A thread that held a lock exclusively acquired it shared.
    ReadLockOfWriteLocked = "read-lock-of-write-locked";
    /// A lock that was held exclusively was released as if it were held shared.
    ReadUnlockOfWriteLocked = "read-unlock-of-write-locked";
    /// A lock that was held shared was released as if it were held exclusively.
    WriteUnlockOfReadLocked = "write-unlock-of-read-locked";
    /// A lock was destroyed while a thread held it.
    DestroyOfLocked = "destroy-of-locked";
    /// A lock was used after it was destroyed.
    UseOfDestroyed = "use-of-destroyed";
    /// A thread held a lock where the program says that it must hold none.
    LockHeld = "lock-held";
    /// A thread was neither joined nor detached.
    ThreadLeak = "thread-leak";
    /// A thread or the program ended while its accesses or operations were ignored.
    IgnoredAtEnd = "ignored-at-end";
    /// A signal handler changed `errno` and did not restore it.
    ErrnoInSignal = "errno-in-signal";
    /// A signal handler called a function that must not be called there.
    SignalUnsafeCall = "signal-unsafe-call";
    /// A block was freed twice, and the second free is ordered after the first.
    DoubleFree = "double-free";
    /// A block was accessed after it was freed, and the access is ordered after the free.
    AccessAfterFree = "access-after-free";
    /// A kind that this version does not know.
    Other = "misuse";
}

impl MisuseKind {
    /// The kind with this name; [`MisuseKind::Other`] if this version does not know it.
    pub fn from_name(name: &[u8]) -> MisuseKind {
        let known = MisuseKind::ALL.iter().find(|kind| kind.name().as_bytes() == name);
        known.copied().unwrap_or(MisuseKind::Other)
    }

    /// Kind and object of a marker's text. The object is empty if there is none.
    pub fn split(text: &[u8]) -> (MisuseKind, &[u8]) {
        let comma = memchr::memchr(b',', text).unwrap_or(text.len());
        (MisuseKind::from_name(&text[..comma]), text.get(comma + 1..).unwrap_or_default())
    }

    /// The text of the marker for an object of this name.
    pub fn text(self, object: &[u8]) -> Vec<u8> {
        match object {
            [] => self.name().as_bytes().to_vec(),
            _ => [self.name().as_bytes(), b",", object].concat(),
        }
    }
}

/// Misuses of one kind, with one object, at one location.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Misuse {
    /// The first event.
    pub index: EventIndex,
    /// That event: who, where, and the marker that says what.
    pub event: Event,
    /// How many there are.
    pub count: u64,
}

/// The misuses in a trace, in the order in which they first occurred.
#[derive(Clone, Default, Debug)]
pub struct Misuses {
    found: Vec<Misuse>,
    positions: FxHashMap<(MarkerId, LocationId), u32>,
}

impl Misuses {
    /// Adds an event of a misuse.
    #[cold]
    pub(crate) fn note(&mut self, index: EventIndex, event: Event, marker: MarkerId) {
        let position = *self.positions.entry((marker, event.location())).or_insert_with(|| {
            self.found.push(Misuse { index, event, count: 0 });
            self.found.len() as u32 - 1
        });
        self.found[position as usize].count += 1;
    }

    /// All misuses.
    pub fn found(&self) -> &[Misuse] {
        &self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_with_and_without_an_object() {
        for &kind in MisuseKind::ALL {
            assert_eq!(MisuseKind::split(&kind.text(b"m,n")), (kind, &b"m,n"[..]));
            assert_eq!(MisuseKind::split(&kind.text(b"")), (kind, &b""[..]));
        }
        assert_eq!(MisuseKind::split(b"from-the-future,m"), (MisuseKind::Other, &b"m"[..]));
    }
}

//! What the first pass keeps of each variable, in 24 bytes: there are as many as variables.

use overtake_clock::{Epoch, Stamp, ThreadClock};

use super::guards::{GuardId, Guards, Standing, TooMany};
use crate::access::AccessKind;
use crate::locks::SetId;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct VarFacts {
    pub(super) last_write: Stamp,
    /// The latest read since, if it is ordered after all others.
    pub(super) read: Epoch,
    pub(super) marks: Marks,
}

const _: () = assert!(size_of::<VarFacts>() == 24, "there are as many as variables");

/// What is known of a variable by a word: in the low bits one more than the number of its guard, 0 without one.
///
/// A variable has a guard if one of its accesses was under a lock and it is not open.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Marks(u32);

impl Marks {
    /// Some access is not ordered after one that it conflicts with.
    pub(super) const MATTERS: u32 = 1 << 31;
    /// Its reads since the last write are not ordered among each other.
    pub(super) const MANY_READERS: u32 = 1 << 30;
    /// Some accesses are kept apart by neither order nor locks.
    pub(super) const IS_OPEN: u32 = 1 << 29;
    /// Some access is not atomic.
    pub(super) const HAS_PLAIN: u32 = 1 << 28;
    const GUARD: u32 = Marks::HAS_PLAIN - 1;

    #[inline]
    pub(super) fn has(self, mark: u32) -> bool {
        self.0 & mark != 0
    }

    pub(super) fn set(&mut self, mark: u32) {
        self.0 |= mark;
    }

    #[inline]
    pub(super) fn set_if_plain(&mut self, kind: AccessKind) {
        if !kind.is_atomic() {
            self.set(Marks::HAS_PLAIN);
        }
    }

    /// Removes a mark. Returns whether it was there.
    pub(super) fn take(&mut self, mark: u32) -> bool {
        let had = self.has(mark);
        self.0 &= !mark;
        had
    }

    #[inline]
    pub(super) fn guard(self) -> Option<GuardId> {
        (self.0 & Marks::GUARD).checked_sub(1).map(GuardId::from_number)
    }

    fn set_guard(&mut self, guard: GuardId) {
        self.0 = self.0 & !Marks::GUARD | (guard.number() + 1);
    }

    /// No longer has a guard, and is open.
    pub(super) fn open(&mut self) {
        self.0 = self.0 & !Marks::GUARD | Marks::IS_OPEN;
    }
}

impl VarFacts {
    /// The access that comes after all others so far, if there is one; none of them matters. No epoch if there is no access.
    fn latest(&self) -> Option<Epoch> {
        let latest = if self.read.is_some() { self.read } else { self.last_write.epoch };
        (!self.marks.has(Marks::MANY_READERS)).then_some(latest)
    }

    pub(super) fn be_guarded(
        &mut self,
        guards: &mut Guards,
        clock: &ThreadClock,
        protecting: SetId,
        standing: Standing,
    ) {
        let guard = match self.marks.guard().map_or_else(|| guards.begin(self.latest()), Ok) {
            Ok(guard) => guard,
            Err(TooMany) => {
                self.marks.set(Marks::MATTERS);
                return self.marks.open();
            }
        };
        self.marks.set_guard(guard);
        guards.ordered(guard, clock, protecting, standing);
    }
}

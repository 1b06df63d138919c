//! Whether locks and order together keep the conflicting accesses of a variable apart, found out in the first pass.
//!
//! Two accesses that hold a common lock, one of them exclusively, are no race in any reordering; nor are two accesses of which one
//! comes first in every reordering (`filter.rs` says when that is so). A variable is *open* if some two conflicting accesses may be kept apart by neither.
//! Only open variables have races. A trace without one need not be read again.
//!
//! **State.** A variable that was accessed under a lock has a guard: its *divide* and the *common* locks. The divide is an access that
//! comes after all earlier ones; the common locks protect every later access. A variable without a guard was never accessed under a lock.
//! **Rules.** An access that comes after the divide and is protected by a common lock is kept apart from all earlier ones. An access
//! that comes after all earlier ones is so as well, and becomes the divide where no common lock protects it. Any other access makes the
//! variable open, unless all accesses that it conflicts with come first and do so for every access so far (then it only leaves no common locks).
//! **Loses.** A variable whose accesses are protected in pairs by different locks counts as open: the trace is read again.
//! **Cost.** A comparison of two numbers for an access under the locks of the one before: the common locks of all guards lie together.

use overtake_clock::{Epoch, ThreadClock};
use overtake_trace::{LockId, ThreadId};

use crate::access::AccessKind;
use crate::detector::LockMode;
use crate::locks::{HeldLocks, SetId};

/// How an access stands to the earlier ones of its variable, if those that it conflicts with come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// All of them come first.
    AfterAll,
    /// Some of them, reads as it is, do not.
    AfterConflicting,
}

/// Names a guard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct GuardId(u32);

impl GuardId {
    /// Its number has no more bits.
    const BITS: u32 = 27;

    pub(super) fn from_number(number: u32) -> GuardId {
        GuardId(number)
    }

    pub(super) fn number(self) -> u32 {
        self.0
    }
}

/// There are more than enough guards already.
#[derive(Debug)]
pub(super) struct TooMany;

#[derive(Debug)]
struct Guard {
    divide: Epoch,
    /// The last access of each thread, once accesses stand beside each other.
    last: Vec<Epoch>,
}

/// All guards, and what threads hold.
#[derive(Default, Debug)]
pub(super) struct Guards {
    held: HeldLocks,
    guards: Vec<Guard>,
    /// The common locks of each guard.
    common: Vec<SetId>,
    unused: Vec<GuardId>,
    list_bytes: usize,
}

impl Guards {
    pub(super) fn grow_to(&mut self, threads: usize) {
        self.held.grow_to(threads);
    }

    pub(super) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        self.held.acquire(thread, lock, mode);
    }

    pub(super) fn release(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        self.held.release(thread, lock, mode);
        if self.held.wants_collection() {
            self.held.collect(self.common.iter().copied().filter(|&set| set != SetId::EVERYTHING));
        }
    }

    /// The locks that protect an access by `thread`.
    #[inline]
    pub(super) fn protecting(&self, thread: ThreadId, kind: AccessKind) -> SetId {
        self.held.of(thread).protecting(kind.writes())
    }

    /// Whether an access under these locks changes the guard or needs a new one, as long as accesses are ordered.
    #[inline]
    pub(super) fn must_note(&self, guard: Option<GuardId>, protecting: SetId) -> bool {
        let common = guard.map(|id| self.common[id.0 as usize]);
        common.is_some() && protecting == SetId::EMPTY || common.unwrap_or_default() != protecting
    }

    /// A guard for a variable whose accesses so far were under no lock. `divide` is the one of them that comes after all others, if there
    /// is such.
    pub(super) fn begin(&mut self, divide: Option<Epoch>) -> Result<GuardId, TooMany> {
        let common = if divide.is_some() { SetId::EVERYTHING } else { SetId::EMPTY };
        let guard = Guard { divide: divide.unwrap_or_default(), last: Vec::new() };
        let id = match self.unused.pop() {
            Some(id) => id,
            None if self.guards.len() >> GuardId::BITS != 0 => return Err(TooMany),
            None => {
                self.guards.push(Guard { divide: Epoch::NONE, last: Vec::new() });
                self.common.push(SetId::EMPTY);
                GuardId(self.guards.len() as u32 - 1)
            }
        };
        (self.guards[id.0 as usize], self.common[id.0 as usize]) = (guard, common);
        Ok(id)
    }

    /// Notes an access by the thread of `clock`, under the locks `protecting`. All accesses so far stood after those that they conflict with, and so
    /// does this one.
    pub(super) fn ordered(
        &mut self,
        id: GuardId,
        clock: &ThreadClock,
        protecting: SetId,
        standing: Standing,
    ) {
        let common = &mut self.common[id.0 as usize];
        *common = self.held.sets.intersect(*common, protecting);
        if *common == SetId::EMPTY && standing == Standing::AfterAll {
            self.guards[id.0 as usize].divide = clock.epoch();
            *common = SetId::EVERYTHING;
        }
    }

    /// Notes the first access that stands beside another one. `last` are the accesses so far that no other one comes after. Returns whether locks and
    /// order still keep accesses apart; if not, the guard is gone.
    pub(super) fn part(
        &mut self,
        id: GuardId,
        clock: &ThreadClock,
        protecting: SetId,
        last: impl Iterator<Item = Epoch>,
    ) -> bool {
        let guard = &mut self.guards[id.0 as usize];
        guard.last = last.filter(|epoch| epoch.is_some()).collect();
        self.list_bytes += guard.last.capacity() * size_of::<Epoch>();
        self.beside(id, clock, protecting)
    }

    /// Notes a further access; returns the same.
    #[inline]
    pub(super) fn beside(&mut self, id: GuardId, clock: &ThreadClock, protecting: SetId) -> bool {
        let Guards { held, guards, common, list_bytes, .. } = self;
        let (guard, common) = (&mut guards[id.0 as usize], &mut common[id.0 as usize]);
        *common = held.sets.intersect(*common, protecting);
        if *common == SetId::EMPTY || !clock.covers(guard.divide) {
            if !guard.last.iter().all(|&access| clock.covers(access)) {
                *list_bytes -= std::mem::take(&mut guard.last).capacity() * size_of::<Epoch>();
                *common = SetId::EMPTY;
                self.unused.push(id);
                return false;
            }
            (guard.divide, *common) = (clock.epoch(), SetId::EVERYTHING);
        }
        let own = clock.epoch();
        match guard.last.iter_mut().find(|access| access.thread == own.thread) {
            Some(access) => *access = own,
            None => {
                let before = guard.last.capacity();
                guard.last.push(own);
                *list_bytes += (guard.last.capacity() - before) * size_of::<Epoch>();
            }
        }
        true
    }

    /// There will be no more accesses to the variable.
    pub(super) fn end(&mut self, id: GuardId) {
        let last = std::mem::take(&mut self.guards[id.0 as usize].last);
        self.list_bytes -= last.capacity() * size_of::<Epoch>();
        self.common[id.0 as usize] = SetId::EMPTY;
        self.unused.push(id);
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.held.state_bytes()
            + self.guards.capacity() * size_of::<Guard>()
            + self.common.capacity() * size_of::<SetId>()
            + self.unused.capacity() * size_of::<GuardId>()
            + self.list_bytes
    }
}

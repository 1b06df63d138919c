//! The accesses of each variable, and the races among them.
//!
//! An event may touch a variable and the heap block it lies in. Both can order the event, so races are judged after both.
//!
//! **Invariant.**
//!   I1  The weak order and thread order together are a partial order. So an access takes the place of an earlier one that it comes after,
//!       if it conflicts with all that the earlier one conflicts with: whatever races with the earlier one races with it, too.
//!       A plain write takes the place of everything, a plain read that of plain reads. So a variable that is properly
//!       locked has its last write and its last read.

use overtake_clock::{Epoch, Time};
use overtake_trace::{EventIndex, LocationId, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};
use smallvec::SmallVec;

use super::clocks::{Clocks, Noted};
use super::survey::{Census, Slot};
use crate::access::{Access, AccessKind, At, Class};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::race::{Race, Verdict};
use crate::visitor::Touch;

/// An access, with its thread's time.
#[derive(Clone, Copy, Debug)]
struct Seen {
    index: EventIndex,
    thread: ThreadId,
    location: LocationId,
    time: Time,
    kind: AccessKind,
}

/// What is known of a variable: a cache line.
#[derive(Default, Debug)]
#[repr(align(64))]
struct Variable {
    seen: SmallVec<[Seen; 2]>,
    noted: Noted,
}

const _: () = assert!(size_of::<Variable>() == 64);

impl Seen {
    fn access(self) -> Access {
        let Seen { index, thread, location, kind, .. } = self;
        Access { at: At { index, thread, location }, kind }
    }

    /// Whether it takes the place of an earlier one that it comes after (I1).
    #[inline]
    fn replaces(self, earlier: Seen) -> bool {
        let (class, before) = (Class::of(self.kind), Class::of(earlier.kind));
        class.supersedes(before)
    }
}

/// Finds the races of the weak order.
#[derive(Debug)]
pub(crate) struct WeakOrder {
    clocks: Clocks,
    census: Census,
    /// By slot.
    variables: Vec<Variable>,
    /// How many accesses there is room for besides.
    more_seen: usize,
    suspected: u64,
}

impl WeakOrder {
    /// A detector for a trace in which this matters.
    pub(super) fn new(mut census: Census) -> WeakOrder {
        WeakOrder {
            clocks: Clocks::new(std::mem::take(&mut census.lives)),
            variables: std::iter::repeat_with(Variable::default).take(census.slot_count).collect(),
            census,
            more_seen: 0,
            suspected: 0,
        }
    }

    /// What matters.
    pub(super) fn census(&self) -> &Census {
        &self.census
    }

    fn judge(&mut self, access: Access, var: VarId, slot: Slot, findings: &mut Findings) {
        let WeakOrder { clocks, variables, more_seen, suspected, .. } = self;
        let Access { at: At { index, thread, location }, kind } = access;
        let now = Seen { index, thread, location, time: clocks.time(thread), kind };
        let seen = &mut variables[slot.0 as usize].seen;
        let mut kept = 0;
        for place in 0..seen.len() {
            let known = seen[place];
            let epoch = Epoch { thread: known.thread.0, time: known.time };
            let is_before = known.thread == thread || clocks.is_weakly_before(epoch, thread);
            if !is_before && known.kind.conflicts(kind) {
                let is_observed = !clocks.happens_before(epoch, thread);
                *suspected += u64::from(!is_observed);
                report(known.access(), access, var, is_observed, findings);
            }
            if !(is_before && now.replaces(known)) {
                seen[kept] = known;
                kept += 1;
            }
        }
        seen.truncate(kept);
        let room = seen.capacity();
        seen.push(now);
        *more_seen += seen.capacity() - room;
    }

    /// An access that is atomic, or touches a heap block as well.
    fn access_to_each(&mut self, at: At, touch: Touch<'_>, findings: &mut Findings) {
        for (var, kind) in touch.each() {
            if let Some(slot) = self.census.slot(var) {
                self.clocks.access(at.thread, slot, kind, &mut self.variables[slot.0 as usize].noted);
            }
        }
        for (var, kind) in touch.each() {
            if let Some(slot) = self.census.slot(var) {
                self.judge(Access { at, kind }, var, slot, findings);
            }
        }
        if touch.kind.is_atomic()
            && let Some(slot) = self.census.slot(touch.var)
        {
            self.clocks.end_atomic(at.thread, slot, touch.kind);
        }
    }
}

#[cold]
fn report(first: Access, second: Access, var: VarId, is_observed: bool, findings: &mut Findings) {
    let verdict = if is_observed { Verdict::Observed } else { Verdict::Suspected };
    findings.report(Race { var, verdict, first, second });
}

impl Detector for WeakOrder {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>, findings: &mut Findings) {
        if touch.block.is_some() || touch.kind.is_atomic() {
            self.access_to_each(at, touch, findings);
        } else if let Some(slot) = self.census.slot(touch.var) {
            let noted = &mut self.variables[slot.0 as usize].noted;
            self.clocks.access(at.thread, slot, touch.kind, noted);
            self.judge(Access { at, kind: touch.kind }, touch.var, slot, findings);
        }
    }

    fn fence(&mut self, _: At, _: MemoryOrder, _: &mut Findings) {}

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        if self.census.is_shared(lock) {
            self.clocks.acquire(at.thread, lock, mode);
        }
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode, _: &mut Findings) {
        self.clocks.release(at, lock);
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.clocks.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.clocks.join(at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.clocks.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.clocks.wait(at.thread, object);
    }

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes()
            + self.census.state_bytes()
            + self.variables.capacity() * size_of::<Variable>()
            + self.more_seen * size_of::<Seen>()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("races that happens-before misses", self.suspected)]
    }
}

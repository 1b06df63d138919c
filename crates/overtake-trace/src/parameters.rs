//! The numbers that describe a trace's size, and who holds which lock.

use overtake_rules::{Acquired, Claim, Holders, Holding, HoldingCount, Released};

use crate::event::{Event, Op};
use crate::id::{IdVec, LockId, ThreadId};
use crate::symbols::Sizes;

/// The sizes of a trace that the costs of detectors are stated in.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Parameters {
    /// N: events.
    pub events: u64,
    /// T: threads named by the trace.
    pub threads: u64,
    /// L: locks named by the trace.
    pub locks: u64,
    /// V: variables named by the trace, block variables included.
    pub variables: u64,
    /// A: critical sections begun; acquiring a lock again that the thread holds begins none.
    pub acquires: u64,
    /// h: the largest number of holdings (a thread, a lock it holds) at any time, of all threads together.
    pub most_held: u64,
}

impl Parameters {
    /// m = 4T + 2h: how many events around a place a sample must have for the property tester.
    pub fn m(&self) -> u64 {
        self.threads.saturating_mul(4).saturating_add(self.most_held.saturating_mul(2))
    }
}

/// Counts [`Parameters`] while a trace passes by.
#[derive(Clone, Default, Debug)]
pub(crate) struct ParameterCounter {
    events: u64,
    holdings: Holdings<()>,
}

impl ParameterCounter {
    pub(crate) fn add(&mut self, events: &[Event]) {
        self.events += events.len() as u64;
        for event in events {
            self.holdings.apply(event, || (), |_, _, ()| {});
        }
    }

    pub(crate) fn parameters(&self, sizes: &Sizes) -> Parameters {
        self.holdings.parameters(self.events, sizes)
    }
}

/// Who holds which lock, whether or not the trace is well formed. This and the [`Checker`](crate::Checker) both use [`Holders`], so
/// that h and A are the same before and after the checker, with one exception: a thread id that is used again after a join is one
/// thread here. Each holding carries an `S` from its acquire.
#[derive(Clone, Debug)]
pub(crate) struct Holdings<S> {
    locks: IdVec<LockId, Holders<Vec<Claim<ThreadId, S>>>>,
    count: HoldingCount,
}

impl<S> Default for Holdings<S> {
    fn default() -> Self {
        Holdings { locks: IdVec::new(), count: HoldingCount::default() }
    }
}

impl<S> Holdings<S> {
    /// Holdings at this point of the trace.
    pub(crate) fn held(&self) -> u64 {
        self.count.held
    }

    pub(crate) fn parameters(&self, events: u64, sizes: &Sizes) -> Parameters {
        Parameters {
            events,
            threads: sizes.threads as u64,
            locks: sizes.locks as u64,
            variables: sizes.variables as u64,
            acquires: self.count.begun,
            most_held: self.count.most_held,
        }
    }

    /// Takes note of an event. `section` makes what a new holding carries, `ended` gets what an ended one carried.
    #[inline]
    pub(crate) fn apply(
        &mut self,
        event: &Event,
        section: impl FnOnce() -> S,
        mut ended: impl FnMut(ThreadId, LockId, S),
    ) {
        let Some(mode) = event.op().lock_mode() else { return };
        let (thread, lock) = (event.thread(), LockId(event.operand()));
        let Holdings { locks, count } = self;
        let holders = locks.entry(lock);
        let mut end = |holding: Holding<ThreadId, S>| {
            count.end();
            ended(holding.thread, lock, holding.section);
        };
        if let Op::Release | Op::ReleaseShared = event.op() {
            if let Released::Ended(holding) | Released::Foreign(holding) = holders.release(thread, mode) {
                end(holding);
            }
        } else if holders.acquire(thread, mode, section, end) == Acquired::Begun {
            count.begin();
        }
    }
}

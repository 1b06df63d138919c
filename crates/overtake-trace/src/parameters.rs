//! The numbers that describe a trace's size, and who holds which lock.

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

/// Who holds which lock, whether or not the trace is well formed: what the [`Checker`](crate::Checker) would mend is
/// taken as it mends it, so that h and A are the same before and after, but for thread ids that are used again after a
/// join, which are one thread here. Each holding carries an `S` from its acquire.
#[derive(Clone, Debug)]
pub(crate) struct Holdings<S> {
    locks: IdVec<LockId, LockState<S>>,
    held: u64,
    most_held: u64,
    begun: u64,
}

#[derive(Clone, Debug)]
struct LockState<S> {
    holders: Vec<Holding<S>>,
    /// Threads whose section another thread's acquire ended: their own release, should it come, ends nothing.
    evicted: Vec<ThreadId>,
}

impl<S> Default for LockState<S> {
    fn default() -> Self {
        LockState { holders: Vec::new(), evicted: Vec::new() }
    }
}

impl<S> LockState<S> {
    /// Whether the section of `thread` was ended by another and this has not been settled; it is from now on.
    fn forget_eviction(&mut self, thread: ThreadId) -> bool {
        let owed = self.evicted.iter().position(|&evicted| evicted == thread);
        owed.map(|at| self.evicted.swap_remove(at)).is_some()
    }
}

#[derive(Clone, Copy, Debug)]
struct Holding<S> {
    thread: ThreadId,
    shared: bool,
    depth: u32,
    section: S,
}

impl<S> Default for Holdings<S> {
    fn default() -> Self {
        Holdings { locks: IdVec::new(), held: 0, most_held: 0, begun: 0 }
    }
}

impl<S> Holdings<S> {
    /// Holdings at this point of the trace.
    pub(crate) fn held(&self) -> u64 {
        self.held
    }

    pub(crate) fn parameters(&self, events: u64, sizes: &Sizes) -> Parameters {
        Parameters {
            events,
            threads: sizes.threads as u64,
            locks: sizes.locks as u64,
            variables: sizes.variables as u64,
            acquires: self.begun,
            most_held: self.most_held,
        }
    }

    /// Takes note of an event. `section` makes what a new holding carries, `ended` gets what an ended one carried.
    #[inline]
    pub(crate) fn apply(
        &mut self,
        event: &Event,
        section: impl FnOnce() -> S,
        ended: impl FnMut(ThreadId, LockId, S),
    ) {
        let lock = LockId(event.operand());
        match event.op() {
            Op::Acquire => self.acquire(event.thread(), lock, false, section, ended),
            Op::AcquireShared => self.acquire(event.thread(), lock, true, section, ended),
            Op::Release | Op::ReleaseShared => {
                self.release(event.thread(), lock, event.op() == Op::ReleaseShared, ended);
            }
            _ => {}
        }
    }

    fn acquire(
        &mut self,
        thread: ThreadId,
        lock: LockId,
        shared: bool,
        section: impl FnOnce() -> S,
        mut ended: impl FnMut(ThreadId, LockId, S),
    ) {
        let state = self.locks.entry(lock);
        // A reader that acquires exclusively begins a new section; any other acquire by a holder goes deeper.
        let is_own = |holding: &&mut Holding<S>| holding.thread == thread && (shared || !holding.shared);
        if let Some(holding) = state.holders.iter_mut().find(is_own) {
            holding.depth += 1;
            return;
        }
        for holding in state.holders.extract_if(.., |holding| !shared || !holding.shared) {
            state.evicted.push(holding.thread);
            self.held -= 1;
            ended(holding.thread, lock, holding.section);
        }
        state.forget_eviction(thread);
        state.holders.push(Holding { thread, shared, depth: 1, section: section() });
        self.begun += 1;
        self.held += 1;
        self.most_held = self.most_held.max(self.held);
    }

    fn release(
        &mut self,
        thread: ThreadId,
        lock: LockId,
        shared: bool,
        mut ended: impl FnMut(ThreadId, LockId, S),
    ) {
        let state = self.locks.entry(lock);
        let own = state.holders.iter().position(|holding| holding.thread == thread);
        let holds = own.is_some_and(|at| shared || !state.holders[at].shared);
        if !holds && state.forget_eviction(thread) {
            return;
        }
        // An exclusive release by another thread ends the holder's section, as if the lock were a semaphore.
        let foreign = || state.holders.iter().position(|holding| !shared && !holding.shared);
        let Some(at) = own.or_else(foreign) else { return };
        let holding = &mut state.holders[at];
        if holding.thread == thread && holding.depth > 1 {
            holding.depth -= 1;
            return;
        }
        let holding = state.holders.swap_remove(at);
        self.held -= 1;
        ended(holding.thread, lock, holding.section);
    }
}

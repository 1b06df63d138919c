//! Closed clocks kept up to date by the events of a trace, for analyses that ask about closed sets without looking for
//! races: they hand every event over before they look.

use overtake_clock::Epoch;
use overtake_trace::{LockId, Pages, Sizes, SyncId, ThreadId, VarId};

use super::clocks::Clocks;
use super::sections::{Learned, Sections};
use crate::access::At;
use crate::detector::LockMode;
use crate::visitor::Touch;

/// The closed clocks of all threads. Nothing is forgotten.
#[derive(Default, Debug)]
pub(crate) struct Follower {
    clocks: Clocks,
    last_writes: Pages<VarId, Epoch>,
}

impl Follower {
    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
    }

    /// The thread's time, and whose it is; what it had learned of other threads.
    pub(crate) fn now(&self, thread: ThreadId) -> (Epoch, Learned) {
        (self.clocks.epoch(thread), self.clocks.learned(thread))
    }

    /// All critical sections so far.
    pub(crate) fn sections(&self) -> &Sections {
        &self.clocks.sections
    }

    /// An access: its thread needs what it saw, and what it wrote can be seen.
    #[inline]
    pub(crate) fn access(&mut self, at: At, touch: Touch<'_>) {
        for (var, _) in touch.each().filter(|(_, kind)| kind.reads()) {
            self.clocks.learn(at.thread, self.last_writes[var]);
        }
        if touch.kind.writes() {
            self.last_writes[touch.var] = self.clocks.publish(at.thread);
        }
    }

    /// An event that no thread waits for. It gets a time of its own, apart from what the thread did before.
    pub(crate) fn pass(&mut self, thread: ThreadId) {
        self.clocks.publish(thread);
    }

    pub(crate) fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.acquire(at.thread, lock, mode);
    }

    pub(crate) fn release(&mut self, at: At, lock: LockId) {
        self.clocks.release(at.thread, lock);
    }

    pub(crate) fn fork(&mut self, at: At, child: ThreadId) {
        self.clocks.fork(at.thread, child);
    }

    pub(crate) fn join(&mut self, at: At, child: ThreadId) {
        self.clocks.join(at.thread, child);
    }

    pub(crate) fn post(&mut self, at: At, object: SyncId) {
        self.clocks.post(at.thread, object);
    }

    pub(crate) fn wait(&mut self, at: At, object: SyncId) {
        self.clocks.wait(at.thread, object);
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.clocks.state_bytes() + self.last_writes.table_bytes()
    }
}

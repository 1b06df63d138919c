//! Who knows what along a trace, where knowledge is one small value.
//!
//! The rules of `overtake_rules::flow` say what flows; [`Knowledge`] says what a value is and how two of them are joined.

use overtake_rules::{Flows, flow};
use overtake_trace::{IdVec, LockId, MemoryOrder, SyncId, ThreadId, TraceIds, VarId};

use crate::access::At;
use crate::detector::LockMode;
use crate::hb::Carrier;
use crate::visitor::{Touch, Visitor};

/// What threads and carriers can know. The default value is to know nothing.
pub(super) trait Knowledge {
    /// What one of them knows.
    type Value: Copy + Default;

    /// A carrier that holds `held` gets `more`.
    fn in_carrier(&mut self, held: Self::Value, more: Self::Value) -> Self::Value;

    /// A thread that knows `held` learns `more`.
    fn in_thread(&mut self, thread: ThreadId, held: Self::Value, more: Self::Value) -> Self::Value;

    /// A thread has given away what it knows: what it does next is not part of that.
    fn given(&mut self, thread: ThreadId) {
        let _ = thread;
    }

    /// An access, when what it acquires is known and what it releases is not given away yet. It may add itself to what its thread knows.
    fn access(&mut self, at: At, touch: Touch<'_>, knows: &mut Self::Value);
}

/// Follows the events of a trace.
#[derive(Default, Debug)]
pub(super) struct Walk<K: Knowledge> {
    pub(super) knowledge: K,
    threads: IdVec<ThreadId, K::Value>,
    carriers: [Vec<K::Value>; Carrier::KINDS],
}

impl<K: Knowledge> Walk<K> {
    pub(super) fn new(knowledge: K) -> Self {
        Walk { knowledge, threads: IdVec::new(), carriers: Default::default() }
    }

    fn carrier(&mut self, carrier: Carrier) -> &mut K::Value {
        let (kind, key) = carrier.key();
        let (carriers, key) = (&mut self.carriers[kind], key as usize);
        if key >= carriers.len() {
            carriers.resize(key + 1, K::Value::default());
        }
        &mut carriers[key]
    }

    fn give(&mut self, from: ThreadId) -> K::Value {
        self.knowledge.given(from);
        *self.threads.entry(from)
    }

    fn learn(&mut self, thread: ThreadId, more: K::Value) {
        let held = self.threads.entry(thread);
        *held = self.knowledge.in_thread(thread, *held, more);
    }

    fn add(&mut self, to: Carrier, more: K::Value) {
        let held = *self.carrier(to);
        *self.carrier(to) = self.knowledge.in_carrier(held, more);
    }
}

impl<K: Knowledge> Flows for Walk<K> {
    type Ids = TraceIds;

    fn publish(&mut self, from: ThreadId, to: Carrier) {
        let more = self.give(from);
        self.add(to, more);
    }

    fn replace(&mut self, from: ThreadId, to: Carrier) {
        *self.carrier(to) = self.give(from);
    }

    fn receive(&mut self, to: ThreadId, from: Carrier) {
        let more = *self.carrier(from);
        self.learn(to, more);
    }

    fn keep_for_fence(&mut self, thread: ThreadId, var: VarId) {
        let more = *self.carrier(Carrier::Sequence(var));
        self.add(Carrier::AcquireFence(thread), more);
    }

    fn release_by_fence(&mut self, thread: ThreadId, var: VarId) {
        let more = *self.carrier(Carrier::ReleaseFence(thread));
        self.add(Carrier::Sequence(var), more);
    }

    fn forget(&mut self, carrier: Carrier) {
        *self.carrier(carrier) = K::Value::default();
    }

    fn start(&mut self, parent: ThreadId, child: ThreadId) {
        let more = self.give(parent);
        self.learn(child, more);
    }

    fn end(&mut self, child: ThreadId, parent: ThreadId) {
        let more = self.give(child);
        self.learn(parent, more);
    }
}

impl<K: Knowledge> Visitor for Walk<K> {
    fn access(&mut self, at: At, touch: Touch<'_>) {
        if let Some(order) = touch.order {
            flow::atomic_read(self, at.thread, touch.var, touch.kind, order);
        }
        self.knowledge.access(at, touch, self.threads.entry(at.thread));
        if let Some(order) = touch.order {
            flow::atomic_write(self, at.thread, touch.var, touch.kind, order);
        }
    }

    fn fence(&mut self, at: At, order: MemoryOrder) {
        flow::fence(self, at.thread, order);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        flow::acquire(self, at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        flow::release(self, at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        flow::fork(self, at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        flow::join(self, at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        flow::post(self, at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        flow::wait(self, at.thread, object);
    }
}

//! What synchronisation means: which knowledge flows where.
//!
//! Every edge of happens-before is knowledge that a thread leaves at some carrier (a lock, an object, an atomic variable)
//! and that another thread finds there. An algorithm says how knowledge is stored ([`Flows`]); the functions here say,
//! for each operation of `docs/semantics.md`, what flows.

use overtake_trace::{LockId, MemoryOrder, SyncId, ThreadId, VarId};

use crate::access::AccessKind;
use crate::detector::LockMode;

/// Something that holds knowledge between a thread that leaves it and one that finds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Carrier {
    /// What exclusive releases of a lock leave.
    Lock(LockId),
    /// What shared releases of a lock leave, since the last exclusive one.
    SharedLock(LockId),
    /// What posts of an object leave.
    Object(SyncId),
    /// What is released by the heads of the release sequences that the last atomic write of a variable belongs to.
    Sequence(VarId),
    /// What the last release fence of a thread left for its atomic writes.
    ReleaseFence(ThreadId),
    /// What the atomic reads of a thread found for its acquire fences.
    AcquireFence(ThreadId),
}

impl Carrier {
    /// How many kinds of carriers there are.
    pub(crate) const KINDS: usize = 6;

    /// The kind and the number within the kind.
    #[inline]
    pub(crate) fn key(self) -> (usize, u32) {
        match self {
            Carrier::Lock(lock) => (0, lock.0),
            Carrier::SharedLock(lock) => (1, lock.0),
            Carrier::Object(object) => (2, object.0),
            Carrier::Sequence(var) => (3, var.0),
            Carrier::ReleaseFence(thread) => (4, thread.0),
            Carrier::AcquireFence(thread) => (5, thread.0),
        }
    }
}

/// Stores of knowledge. Everything an event of a thread knows includes that event itself.
pub(crate) trait Flows {
    /// `to` holds what `from` knows, besides what it held.
    fn publish(&mut self, from: ThreadId, to: Carrier);

    /// `to` holds what `from` knows, and nothing else.
    fn replace(&mut self, from: ThreadId, to: Carrier);

    /// `to` knows what `from` holds.
    fn receive(&mut self, to: ThreadId, from: Carrier);

    /// `to` holds what `from` holds, besides what it held.
    fn transfer(&mut self, from: Carrier, to: Carrier);

    /// `carrier` holds nothing.
    fn forget(&mut self, carrier: Carrier);

    /// `child` knows what `parent` knows.
    fn start(&mut self, parent: ThreadId, child: ThreadId);

    /// `parent` knows what `child` knows.
    fn end(&mut self, child: ThreadId, parent: ThreadId);
}

/// A lock is taken: exclusively after every release, shared after every exclusive release.
#[inline]
pub(crate) fn acquire(flows: &mut impl Flows, thread: ThreadId, lock: LockId, mode: LockMode) {
    flows.receive(thread, Carrier::Lock(lock));
    if mode == LockMode::Exclusive {
        flows.receive(thread, Carrier::SharedLock(lock));
    }
}

/// A lock is given back. An exclusive holder already knows what earlier releases left, so it replaces that.
#[inline]
pub(crate) fn release(flows: &mut impl Flows, thread: ThreadId, lock: LockId, mode: LockMode) {
    match mode {
        LockMode::Exclusive => {
            flows.replace(thread, Carrier::Lock(lock));
            flows.forget(Carrier::SharedLock(lock));
        }
        LockMode::Shared => flows.publish(thread, Carrier::SharedLock(lock)),
    }
}

/// An atomic access: its reading side first, so that a read-modify-write passes on what it acquires.
#[inline]
pub(crate) fn atomic(
    flows: &mut impl Flows,
    thread: ThreadId,
    var: VarId,
    kind: AccessKind,
    order: MemoryOrder,
) {
    let sequence = Carrier::Sequence(var);
    if kind.reads() {
        if order.acquires() {
            flows.receive(thread, sequence);
        } else {
            flows.transfer(sequence, Carrier::AcquireFence(thread));
        }
    }
    if kind.writes() {
        // A store ends the release sequences before it; a read-modify-write and a volatile store continue them.
        let ends = kind == AccessKind::Store && order != MemoryOrder::Volatile;
        match (order.releases(), ends) {
            (true, true) => flows.replace(thread, sequence),
            (true, false) => flows.publish(thread, sequence),
            (false, ends) => {
                if ends {
                    flows.forget(sequence);
                }
                flows.transfer(Carrier::ReleaseFence(thread), sequence);
            }
        }
    }
}

/// A fence: acquires what atomic reads found, then releases for later atomic writes.
#[inline]
pub(crate) fn fence(flows: &mut impl Flows, thread: ThreadId, order: MemoryOrder) {
    if order.acquires() {
        flows.receive(thread, Carrier::AcquireFence(thread));
    }
    if order.releases() {
        flows.replace(thread, Carrier::ReleaseFence(thread));
    }
}

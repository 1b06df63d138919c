//! What each operation orders, as knowledge that flows.
//!
//! A thread *knows* an event if the event happens before whatever the thread does next. Every edge of happens-before is
//! knowledge that one thread leaves at a [`Carrier`] (a lock, an object, an atomic variable, a fence) and that another thread
//! finds there; forks and joins hand it over directly. A store says how knowledge is kept ([`Flows`]); the functions here say, for
//! each operation of `docs/semantics.md`, what flows:
//!
//! | operation of thread `t` | what flows |
//! | --- | --- |
//! | exclusive acquire | `t` receives what exclusive and shared releases of the lock left |
//! | shared acquire | `t` receives what exclusive releases of the lock left |
//! | exclusive release | what `t` knows replaces what the lock held |
//! | shared release | what `t` knows is added to what shared releases left |
//! | fork `u` | `u` learns what `t` knows |
//! | join `u` | `t` learns what `u` knows |
//! | post, wait | what `t` knows is added to the object; `t` receives what the object holds |
//! | load, rmw | if its order acquires, `t` receives what the release sequence of the variable holds; else `t`'s next acquire fence receives it |
//! | store | ends the release sequence and begins another, which holds what is released |
//! | rmw, volatile store | adds what is released to the release sequence, which goes on |
//! | acquire fence | `t` receives what its earlier atomic reads kept for it |
//! | release fence | what `t` knows is kept for its later atomic writes |
//!
//! *What is released* by an atomic write: if its order releases, what its thread knows; else what the last release fence of the
//! thread kept.

use crate::access::AccessKind;
use crate::lock::LockMode;
use crate::order::MemoryOrder;

/// The ids under which a store knows threads, locks, objects and variables.
pub trait Ids: Copy {
    /// A thread.
    type Thread: Copy;
    /// A lock.
    type Lock: Copy;
    /// An object of posts and waits.
    type Object: Copy;
    /// An atomic variable.
    type Variable: Copy;
}

/// Something that holds knowledge between a thread that leaves it and one that finds it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Carrier<I: Ids> {
    /// What exclusive releases of a lock leave.
    Lock(I::Lock),
    /// What shared releases of a lock leave, since the last exclusive one.
    SharedLock(I::Lock),
    /// What posts of an object leave.
    Object(I::Object),
    /// What is released by the heads of the release sequences that the last atomic write of a variable belongs to.
    Sequence(I::Variable),
    /// What the last release fence of a thread left for its atomic writes.
    ReleaseFence(I::Thread),
    /// What the atomic reads of a thread found for its acquire fences.
    AcquireFence(I::Thread),
}

impl<I: Ids> Carrier<I> {
    /// How many kinds of carriers there are.
    pub const KINDS: usize = 6;

    /// The kind, below [`KINDS`](Self::KINDS), and the number within the kind: for stores that keep a table for each kind.
    #[inline]
    pub fn key(self) -> (usize, u32)
    where
        I::Thread: Into<u32>,
        I::Lock: Into<u32>,
        I::Object: Into<u32>,
        I::Variable: Into<u32>,
    {
        match self {
            Carrier::Lock(lock) => (0, lock.into()),
            Carrier::SharedLock(lock) => (1, lock.into()),
            Carrier::Object(object) => (2, object.into()),
            Carrier::Sequence(var) => (3, var.into()),
            Carrier::ReleaseFence(thread) => (4, thread.into()),
            Carrier::AcquireFence(thread) => (5, thread.into()),
        }
    }
}

/// A store of knowledge. What a thread knows at an event includes that event.
pub trait Flows {
    /// The ids that the store uses.
    type Ids: Ids;

    /// Adds what `from` knows to what `to` holds.
    fn publish(&mut self, from: Thread<Self>, to: Carrier<Self::Ids>);

    /// Replaces what `to` holds by what `from` knows.
    fn replace(&mut self, from: Thread<Self>, to: Carrier<Self::Ids>);

    /// Adds what `from` holds to what `to` knows.
    fn receive(&mut self, to: Thread<Self>, from: Carrier<Self::Ids>);

    /// Adds what the release sequence of `var` holds to the carrier [`AcquireFence`](Carrier::AcquireFence) of `thread`.
    fn keep_for_fence(&mut self, thread: Thread<Self>, var: Variable<Self>);

    /// Adds what the carrier [`ReleaseFence`](Carrier::ReleaseFence) of `thread` holds to the release sequence of `var`.
    fn release_by_fence(&mut self, thread: Thread<Self>, var: Variable<Self>);

    /// Empties `carrier`.
    fn forget(&mut self, carrier: Carrier<Self::Ids>);

    /// `child` starts: it learns what `parent` knows.
    fn start(&mut self, parent: Thread<Self>, child: Thread<Self>);

    /// `child` has ended: `parent` learns what `child` knows.
    fn end(&mut self, child: Thread<Self>, parent: Thread<Self>);
}

type Thread<F> = <<F as Flows>::Ids as Ids>::Thread;
type Lock<F> = <<F as Flows>::Ids as Ids>::Lock;
type Object<F> = <<F as Flows>::Ids as Ids>::Object;
type Variable<F> = <<F as Flows>::Ids as Ids>::Variable;

/// A lock is acquired. An exclusive acquire comes after every release, a shared one after every exclusive release.
#[inline]
pub fn acquire<F: Flows>(flows: &mut F, thread: Thread<F>, lock: Lock<F>, mode: LockMode) {
    flows.receive(thread, Carrier::Lock(lock));
    if mode == LockMode::Exclusive {
        flows.receive(thread, Carrier::SharedLock(lock));
    }
}

/// A lock is released. An exclusive holder already knows what earlier releases left, so that its knowledge replaces theirs.
#[inline]
pub fn release<F: Flows>(flows: &mut F, thread: Thread<F>, lock: Lock<F>, mode: LockMode) {
    match mode {
        LockMode::Exclusive => {
            flows.replace(thread, Carrier::Lock(lock));
            flows.forget(Carrier::SharedLock(lock));
        }
        LockMode::Shared => flows.publish(thread, Carrier::SharedLock(lock)),
    }
}

/// Everything so far in `thread` comes before the next event of `child`.
#[inline]
pub fn fork<F: Flows>(flows: &mut F, thread: Thread<F>, child: Thread<F>) {
    flows.start(thread, child);
}

/// Everything so far in `child` comes before the next event of `thread`.
#[inline]
pub fn join<F: Flows>(flows: &mut F, thread: Thread<F>, child: Thread<F>) {
    flows.end(child, thread);
}

/// An object is signalled.
#[inline]
pub fn post<F: Flows>(flows: &mut F, thread: Thread<F>, object: Object<F>) {
    flows.publish(thread, Carrier::Object(object));
}

/// An object is waited for: every earlier post of it comes before the next event of `thread`.
#[inline]
pub fn wait<F: Flows>(flows: &mut F, thread: Thread<F>, object: Object<F>) {
    flows.receive(thread, Carrier::Object(object));
}

/// An atomic access. It reads first and writes then, so that a read-modify-write passes on what it acquires.
#[inline]
pub fn atomic<F: Flows>(
    flows: &mut F,
    thread: Thread<F>,
    var: Variable<F>,
    kind: AccessKind,
    order: MemoryOrder,
) {
    atomic_read(flows, thread, var, kind, order);
    atomic_write(flows, thread, var, kind, order);
}

/// Whether an atomic access itself receives what the release sequence holds, without a fence.
#[inline]
pub fn acquires(kind: AccessKind, order: MemoryOrder) -> bool {
    kind.reads() && order.acquires()
}

/// The reading side of an atomic access: what it takes from the write that it reads. Nothing for a store.
#[inline]
pub fn atomic_read<F: Flows>(
    flows: &mut F,
    thread: Thread<F>,
    var: Variable<F>,
    kind: AccessKind,
    order: MemoryOrder,
) {
    if acquires(kind, order) {
        flows.receive(thread, Carrier::Sequence(var));
    } else if kind.reads() {
        flows.keep_for_fence(thread, var);
    }
}

/// The writing side of an atomic access: what it leaves for those who read it. Nothing for a load.
#[inline]
pub fn atomic_write<F: Flows>(
    flows: &mut F,
    thread: Thread<F>,
    var: Variable<F>,
    kind: AccessKind,
    order: MemoryOrder,
) {
    if !kind.writes() {
        return;
    }
    let sequence = Carrier::Sequence(var);
    // A store ends the release sequences before it; a read-modify-write and a volatile store continue them.
    let ends = kind == AccessKind::Store && order != MemoryOrder::Volatile;
    if !order.releases() {
        if ends {
            flows.forget(sequence);
        }
        flows.release_by_fence(thread, var);
    } else if ends || acquires(kind, order) {
        // A read-modify-write that acquired knows what the sequence held, so its knowledge replaces that of the sequence.
        flows.replace(thread, sequence);
    } else {
        flows.publish(thread, sequence);
    }
}

/// A fence: acquires what atomic reads found, then releases for later atomic writes.
#[inline]
pub fn fence<F: Flows>(flows: &mut F, thread: Thread<F>, order: MemoryOrder) {
    if order.acquires() {
        flows.receive(thread, Carrier::AcquireFence(thread));
    }
    if order.releases() {
        flows.replace(thread, Carrier::ReleaseFence(thread));
    }
}

#[cfg(test)]
mod tests;

//! One event of a trace: who did what to what, and where in the source.

use overtake_rules::LockMode;
pub use overtake_rules::MemoryOrder;

use crate::id::{LocationId, LockId, MarkerId, SyncId, ThreadId, VarId};

/// What an event does. The operand of each operation is given in [`Action`].
///
/// The numbers are the codes of the sealed file format and of [`Event`]; they are never reused.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(u8)]
pub enum Op {
    /// Plain read of a variable.
    Read = 0,
    /// Plain write of a variable.
    Write = 1,
    /// A lock was acquired exclusively.
    Acquire = 2,
    /// A lock acquired with [`Op::Acquire`] was released.
    Release = 3,
    /// A reader-writer lock was acquired in shared mode.
    AcquireShared = 4,
    /// A lock acquired with [`Op::AcquireShared`] was released.
    ReleaseShared = 5,
    /// A thread was started.
    Fork = 6,
    /// The end of another thread was waited for.
    Join = 7,
    /// A thread, transaction or method begins; orders nothing beyond thread order.
    Begin = 8,
    /// A thread, transaction or method ends; orders nothing beyond thread order.
    End = 9,
    /// Atomic load.
    Load = 10,
    /// Atomic store.
    Store = 11,
    /// Atomic read-modify-write.
    Rmw = 12,
    /// Memory fence.
    Fence = 13,
    /// A synchronisation object was signalled.
    Post = 14,
    /// A synchronisation object was waited for; ordered after every earlier post of that object.
    Wait = 15,
    /// A heap block was allocated.
    Alloc = 16,
    /// A heap block was freed; conflicts with every access to the block.
    Free = 17,
    /// A lock is about to be acquired; orders nothing.
    Request = 18,
    /// A branch was taken; orders nothing.
    Branch = 19,
    /// An input event that the checker dropped; it keeps its index and has no meaning.
    Skip = 20,
    /// The program did something wrong that concerns no other thread; orders nothing. See [`MisuseKind`](crate::MisuseKind).
    Misuse = 21,
    /// Events are missing here, of any thread: everything before comes before everything after.
    Gap = 22,
}

impl Op {
    /// Every operation, in the order of its code.
    pub const ALL: [Op; 23] = [
        Op::Read,
        Op::Write,
        Op::Acquire,
        Op::Release,
        Op::AcquireShared,
        Op::ReleaseShared,
        Op::Fork,
        Op::Join,
        Op::Begin,
        Op::End,
        Op::Load,
        Op::Store,
        Op::Rmw,
        Op::Fence,
        Op::Post,
        Op::Wait,
        Op::Alloc,
        Op::Free,
        Op::Request,
        Op::Branch,
        Op::Skip,
        Op::Misuse,
        Op::Gap,
    ];

    /// The operation with this code.
    #[inline]
    pub fn from_code(code: u8) -> Option<Op> {
        Op::ALL.get(code as usize).copied()
    }

    /// The table that the operand is an id of.
    #[inline]
    pub fn operand_kind(self) -> OperandKind {
        match self {
            Op::Read | Op::Write | Op::Load | Op::Store | Op::Rmw | Op::Alloc | Op::Free => {
                OperandKind::Variable
            }
            Op::Acquire | Op::Release | Op::AcquireShared | Op::ReleaseShared | Op::Request => {
                OperandKind::Lock
            }
            Op::Fork | Op::Join => OperandKind::Thread,
            Op::Post | Op::Wait => OperandKind::Sync,
            Op::Begin | Op::End | Op::Branch | Op::Misuse => OperandKind::Marker,
            Op::Fence | Op::Skip | Op::Gap => OperandKind::None,
        }
    }

    /// The mode in which the operation acquires or releases a lock.
    #[inline]
    pub fn lock_mode(self) -> Option<LockMode> {
        match self {
            Op::Acquire | Op::Release => Some(LockMode::Exclusive),
            Op::AcquireShared | Op::ReleaseShared => Some(LockMode::Shared),
            _ => None,
        }
    }

    /// Whether the operation acquires a lock.
    #[inline]
    pub fn acquires(self) -> bool {
        matches!(self, Op::Acquire | Op::AcquireShared)
    }

    /// Whether an event with this operation may have this memory order. An acquire has one only as the mark of a try
    /// ([`Event::is_try`]).
    #[inline]
    pub fn admits(self, order: MemoryOrder) -> bool {
        self.has_memory_order() || order == MemoryOrder::Relaxed || (self.acquires() && order == TRY)
    }

    /// Whether the operation carries a memory order.
    #[inline]
    pub fn has_memory_order(self) -> bool {
        matches!(self, Op::Load | Op::Store | Op::Rmw | Op::Fence)
    }

    /// The operation in words, for reports: `read`, `atomic store`, ...
    pub fn describe(self) -> &'static str {
        match self {
            Op::Read => "read",
            Op::Write => "write",
            Op::Acquire => "acquire",
            Op::Release => "release",
            Op::AcquireShared => "shared acquire",
            Op::ReleaseShared => "shared release",
            Op::Fork => "fork",
            Op::Join => "join",
            Op::Begin => "begin",
            Op::End => "end",
            Op::Load => "atomic load",
            Op::Store => "atomic store",
            Op::Rmw => "atomic read-modify-write",
            Op::Fence => "fence",
            Op::Post => "post",
            Op::Wait => "wait",
            Op::Alloc => "alloc",
            Op::Free => "free",
            Op::Request => "request",
            Op::Branch => "branch",
            Op::Skip => "skipped event",
            Op::Misuse => "misuse",
            Op::Gap => "gap",
        }
    }
}

/// Which table an event's operand points into.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum OperandKind {
    /// The operation has no operand.
    None,
    /// A [`ThreadId`].
    Thread,
    /// A [`LockId`].
    Lock,
    /// A [`VarId`].
    Variable,
    /// A [`SyncId`].
    Sync,
    /// A [`MarkerId`].
    Marker,
}

/// An operation together with its typed operand: the readable form of an [`Event`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[allow(missing_docs, reason = "each variant is documented at the Op of the same name")]
pub enum Action {
    Read(VarId),
    Write(VarId),
    Acquire(LockId),
    Release(LockId),
    AcquireShared(LockId),
    ReleaseShared(LockId),
    Fork(ThreadId),
    Join(ThreadId),
    Begin(MarkerId),
    End(MarkerId),
    Load(VarId, MemoryOrder),
    Store(VarId, MemoryOrder),
    Rmw(VarId, MemoryOrder),
    Fence(MemoryOrder),
    Post(SyncId),
    Wait(SyncId),
    Alloc(VarId),
    Free(VarId),
    Request(LockId),
    Branch(MarkerId),
    Skip,
    Misuse(MarkerId),
    Gap,
}

/// The mark of an acquire that is a try, stored in place of a memory order.
const TRY: MemoryOrder = MemoryOrder::Acquire;

/// One event. Its index is its position in the trace and is not stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(C)]
pub struct Event {
    thread: ThreadId,
    operand: u32,
    location: LocationId,
    op: Op,
    order: MemoryOrder,
}

const _: () = assert!(size_of::<Event>() == 16);

impl Event {
    /// An event of `thread` at `location`.
    #[inline]
    pub fn new(thread: ThreadId, action: Action, location: LocationId) -> Event {
        let relaxed = MemoryOrder::Relaxed;
        let (op, operand, order) = match action {
            Action::Read(var) => (Op::Read, var.0, relaxed),
            Action::Write(var) => (Op::Write, var.0, relaxed),
            Action::Acquire(lock) => (Op::Acquire, lock.0, relaxed),
            Action::Release(lock) => (Op::Release, lock.0, relaxed),
            Action::AcquireShared(lock) => (Op::AcquireShared, lock.0, relaxed),
            Action::ReleaseShared(lock) => (Op::ReleaseShared, lock.0, relaxed),
            Action::Fork(child) => (Op::Fork, child.0, relaxed),
            Action::Join(child) => (Op::Join, child.0, relaxed),
            Action::Begin(marker) => (Op::Begin, marker.0, relaxed),
            Action::End(marker) => (Op::End, marker.0, relaxed),
            Action::Load(var, order) => (Op::Load, var.0, order),
            Action::Store(var, order) => (Op::Store, var.0, order),
            Action::Rmw(var, order) => (Op::Rmw, var.0, order),
            Action::Fence(order) => (Op::Fence, 0, order),
            Action::Post(object) => (Op::Post, object.0, relaxed),
            Action::Wait(object) => (Op::Wait, object.0, relaxed),
            Action::Alloc(block) => (Op::Alloc, block.0, relaxed),
            Action::Free(block) => (Op::Free, block.0, relaxed),
            Action::Request(lock) => (Op::Request, lock.0, relaxed),
            Action::Branch(marker) => (Op::Branch, marker.0, relaxed),
            Action::Skip => (Op::Skip, 0, relaxed),
            Action::Misuse(marker) => (Op::Misuse, marker.0, relaxed),
            Action::Gap => (Op::Gap, 0, relaxed),
        };
        Event { thread, operand, location, op, order }
    }

    /// An event from its stored parts, as decoders have them. The order is ignored where `op` has none.
    #[inline]
    pub fn from_parts(
        thread: ThreadId,
        op: Op,
        order: MemoryOrder,
        operand: u32,
        location: LocationId,
    ) -> Event {
        Event { thread, operand, location, op, order }
    }

    /// The thread that did it.
    #[inline]
    pub fn thread(&self) -> ThreadId {
        self.thread
    }

    /// The operation without its operand.
    #[inline]
    pub fn op(&self) -> Op {
        self.op
    }

    /// The operand's id as a plain number; [`Op::operand_kind`] names its table.
    #[inline]
    pub fn operand(&self) -> u32 {
        self.operand
    }

    /// The memory order, [`MemoryOrder::Relaxed`] for operations that have none.
    #[inline]
    pub fn order(&self) -> MemoryOrder {
        self.order
    }

    /// Whether it is a try: an acquire that does not wait, or only up to a time limit (`trylock`, a lock with a time limit).
    #[inline]
    pub fn is_try(&self) -> bool {
        self.op.acquires() && self.order == TRY
    }

    /// The same acquire as a try. Other operations do not change.
    #[inline]
    pub fn as_try(self) -> Event {
        Event { order: if self.op.acquires() { TRY } else { self.order }, ..self }
    }

    /// The source location.
    #[inline]
    pub fn location(&self) -> LocationId {
        self.location
    }

    /// The operation with its typed operand.
    #[inline]
    pub fn action(&self) -> Action {
        let Event { operand, order, .. } = *self;
        match self.op {
            Op::Read => Action::Read(VarId(operand)),
            Op::Write => Action::Write(VarId(operand)),
            Op::Acquire => Action::Acquire(LockId(operand)),
            Op::Release => Action::Release(LockId(operand)),
            Op::AcquireShared => Action::AcquireShared(LockId(operand)),
            Op::ReleaseShared => Action::ReleaseShared(LockId(operand)),
            Op::Fork => Action::Fork(ThreadId(operand)),
            Op::Join => Action::Join(ThreadId(operand)),
            Op::Begin => Action::Begin(MarkerId(operand)),
            Op::End => Action::End(MarkerId(operand)),
            Op::Load => Action::Load(VarId(operand), order),
            Op::Store => Action::Store(VarId(operand), order),
            Op::Rmw => Action::Rmw(VarId(operand), order),
            Op::Fence => Action::Fence(order),
            Op::Post => Action::Post(SyncId(operand)),
            Op::Wait => Action::Wait(SyncId(operand)),
            Op::Alloc => Action::Alloc(VarId(operand)),
            Op::Free => Action::Free(VarId(operand)),
            Op::Request => Action::Request(LockId(operand)),
            Op::Branch => Action::Branch(MarkerId(operand)),
            Op::Skip => Action::Skip,
            Op::Misuse => Action::Misuse(MarkerId(operand)),
            Op::Gap => Action::Gap,
        }
    }

    /// Whether it does to the next variable what the plain access `before` does to its own: the same operation, thread and location.
    #[inline]
    pub fn continues(&self, before: &Event) -> bool {
        (before.op == Op::Read || before.op == Op::Write)
            && *self == Event { operand: before.operand.wrapping_add(1), ..*before }
    }

    /// The same event in another thread, for repairs.
    #[inline]
    pub fn with_thread(self, thread: ThreadId) -> Event {
        Event { thread, ..self }
    }

    /// The same event with another operand of the same table, for repairs.
    #[inline]
    pub fn with_operand(self, operand: u32) -> Event {
        Event { operand, ..self }
    }
}

//! The back end that confirms races: it holds a thread at one of two accesses until another thread reaches the other one.
//!
//! `overtake confirm` runs a program again with this back end and gives it a plan (`plan`): pairs of accesses, by module and offset. A
//! thread that reaches one of them is held there (`meeting`) until another thread reaches the other access, a time limit has
//! passed, or no other thread can run (`idle`). Two threads *meet* if their accesses conflict, have common bytes,
//! and no lock is held by both threads. Then the plan's file says so: the race was not predicted but observed.
//!
//! **Why holding is enough.** A sync-preserving race has a schedule that runs everything before the two accesses and leaves out what comes
//! after the first one. A thread that is held at the first access leaves this out, whatever the others do. If the held thread has a lock
//! that the other thread needs before its access, at some point no other thread can run. The plan's file then names the acquire of that
//! lock, and the next run holds the thread before this acquire, until another thread has released the lock (a *gate*).
//!
//! **Deadlocks.** The two sites are acquires, and each thread is held before its own. They meet if each holds the mutex that the other is
//! about to wait for: the cycle is closed. Then one thread continues without the mutex, as if it held it, so that the program can end. It
//! does not release this mutex.
//!
//! **The program never hangs because of us.** A held thread continues when no other thread can run, and after the time limit. Without a
//! plan the back end does nothing.

mod idle;
mod meeting;
mod plan;

use core::cell::Cell;

use overtake_rawlog::{RecordKind, gates, split_atomic_extra};

use crate::back_end::{Access, BackEnd, Operation, Wait};
use crate::process;
use crate::sys;
use crate::thread::ThreadState;

pub(crate) struct Gates;

/// Most locks of a thread that are known. If a thread holds more, two threads do not meet.
const MOST_LOCKS: usize = 200;

/// A lock that a thread holds, or a semaphore of which it took a token.
#[derive(Clone, Copy)]
struct HeldLock {
    lock: u64,
    pc: u64,
    is_shared: bool,
    /// A token of a semaphore. It does not exclude threads that take other tokens, so two threads that have one do not exclude each other.
    is_token: bool,
}

/// What this back end knows of a thread. All zeros is valid.
struct Room {
    /// The race whose access this thread is about to make, plus one. The thread that waits for it continues at this thread's next operation.
    passing: Cell<usize>,
    /// The mutex without which the thread continues after a deadlock was confirmed; 0 is none.
    without: Cell<u64>,
    /// The site at which it was created; zeros if that is not known.
    created: Cell<(u64, u64)>,
    count: Cell<usize>,
    locks: [Cell<HeldLock>; MOST_LOCKS],
}

impl Room {
    fn of(thread: &ThreadState) -> Option<&Room> {
        // SAFETY: set by `open` below to a zeroed room, or null.
        unsafe { thread.room().get().cast::<Room>().as_ref() }
    }

    fn open(thread: &ThreadState) {
        if let (true, Ok(room)) = (thread.room().get().is_null(), sys::map_private(size_of::<Room>())) {
            thread.room().set(room.cast());
        }
    }

    fn close(thread: &ThreadState) {
        let room = thread.room().replace(core::ptr::null_mut());
        if !room.is_null() {
            // SAFETY: mapped by `open`; nobody else knows it.
            unsafe { sys::unmap(room.cast(), size_of::<Room>()) };
        }
    }

    fn took(&self, held: HeldLock) {
        let count = self.count.get();
        let is_known = |place: &Cell<HeldLock>| place.get().lock == held.lock;
        if held.is_token && self.locks().is_none_or(|locks| locks.iter().any(is_known)) {
            return; // the semaphore may be a signal, whose token is never returned
        }
        if let Some(place) = self.locks.get(count) {
            place.set(held);
        }
        self.count.set(count + 1);
    }

    fn gave_back(&self, lock: u64) {
        let count = self.count.get();
        let known = self.locks.get(..count).unwrap_or(&self.locks);
        let Some(at) = known.iter().rposition(|held| held.get().lock == lock) else { return };
        for (place, next) in known.iter().zip(known.iter().skip(1)).skip(at) {
            place.set(next.get());
        }
        self.count.set(count - 1);
    }

    /// Whether the thread holds this lock.
    fn holds(&self, lock: u64) -> bool {
        let is_it = |held: &Cell<HeldLock>| held.get().lock == lock && !held.get().is_token;
        self.locks().is_some_and(|locks| locks.iter().any(is_it))
    }

    /// The locks, unless there are too many.
    fn locks(&self) -> Option<&[Cell<HeldLock>]> {
        self.locks.get(..self.count.get())
    }
}

/// An access that may be in the plan.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    address: usize,
    length: usize,
    /// Bits of [`gates::SIDE_KIND`].
    kind: u64,
    pc: u64,
}

impl Seen {
    /// Whether the two accesses have common bytes, at least one writes, and not both are atomic.
    fn conflicts(&self, other: &Seen) -> bool {
        self.common(other).is_some()
            && (self.kind | other.kind) & gates::WRITES != 0
            && self.kind & other.kind & gates::IS_ATOMIC == 0
    }

    /// Where the common bytes start, and how many there are.
    fn common(&self, other: &Seen) -> Option<(usize, usize)> {
        let start = self.address.max(other.address);
        let end = self.address.saturating_add(self.length).min(other.address.saturating_add(other.length));
        (start < end).then_some((start, end - start))
    }
}

impl BackEnd for Gates {
    fn name(&self) -> &'static [u8] {
        b"gates"
    }

    fn start(&self) {
        plan::open();
    }

    fn access(&self, thread: &ThreadState, access: Access) {
        if meeting::is_anybody_passing() | plan::may_be_site(access.pc as u64) {
            look_at_access(thread, access);
        }
    }

    fn before(&self, thread: &ThreadState, operation: Operation) -> Wait {
        match meeting::is_anybody_passing() | plan::may_be_site(operation.pc) {
            true => look_before(thread, operation),
            false => Wait::AsUsual,
        }
    }

    fn goes_without(&self, thread: &ThreadState, lock: u64) -> bool {
        Room::of(thread).is_some_and(|room| {
            let is_it = room.without.get() == lock;
            if is_it {
                room.without.set(0);
            }
            is_it
        })
    }

    fn operation(&self, thread: &ThreadState, operation: Operation) {
        if meeting::is_anybody_passing() {
            meeting::passed(thread);
        }
        if process::takes_new_modules() {
            plan::resolve();
        }
        let Operation { kind, object, pc, more, .. } = operation;
        match kind {
            RecordKind::ThreadStart => {
                meeting::forget_parent();
                Room::open(thread);
                if let Some(room) = Room::of(thread) {
                    room.passing.set(0); // of a parent process
                    room.created.set(plan::created_at(thread.number()));
                }
            }
            RecordKind::Fork => plan::note_creation(object, pc),
            RecordKind::ThreadEnd => Room::close(thread),
            RecordKind::Acquire | RecordKind::AcquireShared => {
                let is_shared = kind == RecordKind::AcquireShared;
                if let Some(room) = Room::of(thread) {
                    room.took(HeldLock { lock: object, pc, is_shared, is_token: false });
                }
            }
            RecordKind::SemaphoreWait => {
                if let Some(room) = Room::of(thread) {
                    room.took(HeldLock { lock: object, pc, is_shared: false, is_token: true });
                }
            }
            RecordKind::Release | RecordKind::ReleaseAny | RecordKind::SemaphorePost => {
                if let Some(room) = Room::of(thread) {
                    room.gave_back(object);
                }
                meeting::gave_back(thread, object);
            }
            RecordKind::Free if plan::is_site(pc) => {
                let length = (more as usize).max(1);
                meeting::arrive(thread, Seen { address: object as usize, length, kind: gates::WRITES, pc });
            }
            _ => {}
        }
    }
}

/// The thread is about to wait for a mutex at a site. If this closes a cycle of threads that wait for each other, one of them continues
/// without its mutex.
fn wait_for_deadlock(thread: &ThreadState, operation: Operation) -> Wait {
    let Operation { kind, object, pc, .. } = operation;
    if kind != RecordKind::Acquire {
        return Wait::AsUsual;
    }
    let seen = Seen { address: object as usize, length: 1, kind: gates::ACQUIRES, pc };
    match (meeting::arrive(thread, seen), Room::of(thread)) {
        (true, Some(room)) => {
            room.without.set(object);
            Wait::NotAtAll
        }
        _ => Wait::AsUsual,
    }
}

/// A plain access that may be at a site, or that follows one for which another thread waits.
#[cold]
#[inline(never)]
fn look_at_access(thread: &ThreadState, access: Access) {
    meeting::passed(thread);
    if plan::is_site(access.pc as u64) {
        let Access { address, length, is_write, pc } = access;
        let kind = if is_write { gates::WRITES } else { 0 };
        meeting::arrive(thread, Seen { address, length, kind, pc: pc as u64 });
    }
}

/// The same for acquires that are about to wait, and for atomic accesses.
#[cold]
#[inline(never)]
fn look_before(thread: &ThreadState, operation: Operation) -> Wait {
    meeting::passed(thread);
    if !plan::is_site(operation.pc) {
        return Wait::AsUsual;
    }
    let writes = match operation.kind {
        RecordKind::Acquire | RecordKind::AcquireShared | RecordKind::SemaphoreWait => {
            meeting::wait_at_gate(thread, operation.object, operation.pc);
            return wait_for_deadlock(thread, operation);
        }
        RecordKind::AtomicLoad => 0,
        _ => gates::WRITES,
    };
    let (length, _) = split_atomic_extra(operation.extra);
    let kind = writes | gates::IS_ATOMIC;
    let address = operation.object as usize;
    meeting::arrive(thread, Seen { address, length: length as usize, kind, pc: operation.pc });
    Wait::AsUsual
}

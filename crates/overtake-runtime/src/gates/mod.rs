//! The back end that confirms races: it holds a thread at one of two accesses until another thread reaches the other one.
//!
//! `overtake confirm` runs a program again with this back end and gives it a plan (`plan`): pairs of accesses, by module and offset. A
//! thread that reaches one of them is held there (`meeting`) until another thread reaches the other access, a time limit has
//! passed, or no other thread can run (`idle`). Two threads *meet* if their accesses conflict, have common bytes,
//! and no lock is held by both threads. Then the plan's file says so: the race was not predicted but observed.
//!
//! **Why holding is enough.** A sync-preserving race has a schedule that runs everything before the two accesses and leaves out what comes
//! after the first one. A thread that is held at the first access leaves this out, whatever the others do. If the held thread has a lock
//! that the other thread needs before its access, the thread must be held before it acquires this lock, until the other thread has released it (a *gate*,
//! `gate`). Where the witness of the race takes the sections of a lock in another order than the run, the plan has the gate from the start. Else at some
//! point no other thread can run. The plan's file then names the acquire of that lock, and the next run has the gate.
//!
//! **Deadlocks.** The sites are acquires of mutexes, reader-writer locks or spin locks, and each thread is held before its own. They meet if each has the lock
//! that the one before it is about to wait for: the cycle is closed. Then one thread goes on without its lock, as if it had it, so that the program can end;
//! it does not give back what it does not have.
//!
//! **Loops.** A site that is reached very often is held a few times only. `visits` learns for which time threads must come there to meet, and the next run
//! holds them at that time.
//!
//! **The program never hangs because of us.** A held thread continues when no other thread can run, and after the time limit. Without a
//! plan the back end does nothing.

mod gate;
mod idle;
mod meeting;
mod plan;
mod visits;
mod wanted;

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, Ordering};

use overtake_rawlog::{RecordKind, gates, split_atomic_extra};

use crate::back_end::{Access, BackEnd, Operation, Wait};
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
    /// The lock that it goes on without, so that a deadlock ends that was shown to be possible; 0 is none.
    without: Cell<u64>,
    /// Its place in `wanted`, plus one; 0 if it is not known to wait for a lock.
    wants: Cell<usize>,
    /// The site at which it was created; zeros if that is not known.
    created: Cell<(u64, u64)>,
    /// How often it came to each side of each race.
    visits: [[Cell<u32>; gates::MOST_SIDES]; gates::MOST_RACES],
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

    #[inline(always)]
    fn took(&self, held: HeldLock) {
        let count = self.count.get();
        if let Some(place) = self.locks.get(count) {
            place.set(held);
        }
        self.count.set(count + 1);
        if self.wants.get() != 0 {
            wanted::forget(self);
        }
    }

    /// It took a token of a semaphore. That may be a signal that is never given back, so that one is enough.
    fn took_token(&self, lock: u64, pc: u64) {
        let is_known = |place: &Cell<HeldLock>| place.get().lock == lock;
        if self.locks().is_some_and(|locks| !locks.iter().any(is_known)) {
            self.took(HeldLock { lock, pc, is_shared: false, is_token: true });
        }
    }

    #[inline(always)]
    fn gave_back(&self, lock: u64) {
        let last = self.count.get().wrapping_sub(1);
        match self.locks.get(last) {
            // Nearly always the lock that was taken last.
            Some(place) if place.get().lock == lock => self.count.set(last),
            _ => self.gave_back_earlier(lock),
        }
    }

    #[cold]
    #[inline(never)]
    fn gave_back_earlier(&self, lock: u64) {
        let count = self.count.get();
        let known = self.locks.get(..count).unwrap_or(&self.locks);
        let Some(at) = known.iter().rposition(|held| held.get().lock == lock) else { return };
        for (place, next) in known.iter().zip(known.iter().skip(1)).skip(at) {
            place.set(next.get());
        }
        self.count.set(count - 1);
    }

    /// Whether it has this lock, and so keeps others from taking it, or from taking it together with other readers.
    fn keeps_out(&self, lock: u64, shares: bool) -> bool {
        let is_it = |held: &Cell<HeldLock>| {
            let HeldLock { lock: known, is_shared, is_token, .. } = held.get();
            known == lock && !is_token && !(is_shared && shares)
        };
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
        if needs_a_look(access.pc as u64) {
            look_at_access(thread, access);
        }
    }

    fn before(&self, thread: &ThreadState, operation: Operation) -> Wait {
        if u64::from(meeting::watched_or_held()) | plan::first_in_slot(operation.pc) == 0 {
            return Wait::AsUsual;
        }
        let wait = look_before(thread, operation);
        let is_acquire = matches!(operation.kind, RecordKind::Acquire | RecordKind::AcquireShared);
        if let (Wait::AsUsual, true, Some(room)) = (wait, is_acquire, Room::of(thread)) {
            wanted::note(room, operation.object);
        }
        wait
    }

    fn goes_without(&self, thread: &ThreadState, lock: u64) -> bool {
        meeting::watched() != 0 && forgets_missing(thread, lock)
    }

    fn expect_modules(&self) {
        if MODULES_EXPECTED.swap(MOST_LOOKS, Ordering::Relaxed) == 0 {
            meeting::watch_more();
        }
    }

    fn operation(&self, thread: &ThreadState, operation: Operation) {
        match meeting::watched() {
            0 => take(thread, &operation),
            _ => look_around(thread, &operation),
        }
    }
}

/// How often modules are still looked for: a module that is about to be loaded is there after some operations of the loader's own.
static MODULES_EXPECTED: AtomicU32 = AtomicU32::new(0);
const MOST_LOOKS: u32 = 1000;

/// Whether something is to be done at this program counter, or somebody is watched. Nearly always it is not: this is all that most accesses cost.
#[inline(always)]
fn needs_a_look(pc: u64) -> bool {
    u64::from(meeting::watched()) | plan::first_in_slot(pc) != 0
}

/// What operations mean. Those that come often come first.
#[inline(always)]
fn take(thread: &ThreadState, operation: &Operation) {
    let &Operation { kind, object: lock, pc, .. } = operation;
    if kind == RecordKind::Acquire {
        if let Some(room) = Room::of(thread) {
            room.took(HeldLock { lock, pc, is_shared: false, is_token: false });
        }
    } else if kind == RecordKind::Release {
        if let Some(room) = Room::of(thread) {
            room.gave_back(lock);
        }
    } else if RARE >> kind as u32 & 1 != 0 && (kind != RecordKind::Free || plan::may_be_site(pc)) {
        take_rare(thread, operation);
    }
}

/// The kinds that [`take_rare`] takes, a bit each.
const RARE: u64 = {
    let kinds = [
        RecordKind::Free,
        RecordKind::ThreadStart,
        RecordKind::ThreadEnd,
        RecordKind::Fork,
        RecordKind::AcquireShared,
        RecordKind::ReleaseAny,
        RecordKind::SemaphoreWait,
        RecordKind::SemaphorePost,
    ];
    let (mut bits, mut at) = (0, 0);
    while at < kinds.len() {
        bits |= 1 << kinds[at] as u32;
        at += 1;
    }
    bits
};

/// Operations that come seldom.
#[cold]
#[inline(never)]
fn take_rare(thread: &ThreadState, operation: &Operation) {
    let &Operation { kind, object, pc, more, .. } = operation;
    match kind {
        RecordKind::ThreadStart => {
            meeting::forget_parent();
            Room::open(thread);
            if let Some(room) = Room::of(thread) {
                room.passing.set(0); // of a parent process
                room.wants.set(0);
                room.created.set(plan::created_at(thread.number()));
            }
        }
        RecordKind::ThreadEnd => Room::close(thread),
        RecordKind::Fork => plan::note_creation(object, pc),
        RecordKind::Free if plan::is_site(pc) => {
            let length = (more as usize).max(1);
            meeting::arrive(thread, Seen { address: object as usize, length, kind: gates::WRITES, pc });
        }
        _ => {
            let Some(room) = Room::of(thread) else { return };
            match kind {
                RecordKind::AcquireShared => {
                    room.took(HeldLock { lock: object, pc, is_shared: true, is_token: false })
                }
                RecordKind::SemaphoreWait => room.took_token(object, pc),
                RecordKind::ReleaseAny | RecordKind::SemaphorePost => room.gave_back(object),
                _ => {}
            }
        }
    }
}

/// Somebody is watched, or there may be new modules.
#[cold]
#[inline(never)]
fn look_around(thread: &ThreadState, operation: &Operation) {
    meeting::passed(thread);
    look_for_modules();
    if matches!(operation.kind, RecordKind::Release | RecordKind::ReleaseAny | RecordKind::SemaphorePost) {
        gate::open(thread, operation.object, operation.pc);
    }
    take(thread, operation);
}

/// Finds the sites in modules that were loaded.
fn look_for_modules() {
    let looks = MODULES_EXPECTED.load(Ordering::Relaxed);
    if looks == 0 {
        return;
    }
    let left = if plan::resolve() { 0 } else { looks - 1 };
    let is_mine =
        MODULES_EXPECTED.compare_exchange(looks, left, Ordering::Relaxed, Ordering::Relaxed).is_ok();
    if is_mine && left == 0 {
        meeting::watch_less();
    }
}

/// Whether the thread goes on without this lock, which it is about to give back. From now on it does not.
#[cold]
#[inline(never)]
fn forgets_missing(thread: &ThreadState, lock: u64) -> bool {
    let is_it =
        Room::of(thread).is_some_and(|room| room.without.get() == lock && room.without.replace(0) != 0);
    if is_it {
        meeting::watch_less();
    }
    is_it
}

/// The thread is about to wait for a lock at a site. If it closes a cycle of threads that wait for each other, one of them goes on without it.
fn wait_for_deadlock(thread: &ThreadState, operation: Operation) -> Wait {
    let Operation { kind, object, pc, .. } = operation;
    let kind = match kind {
        RecordKind::Acquire => gates::ACQUIRES,
        RecordKind::AcquireShared => gates::ACQUIRES | gates::SHARES,
        _ => return Wait::AsUsual,
    };
    let seen = Seen { address: object as usize, length: 1, kind, pc };
    match (meeting::arrive(thread, seen), Room::of(thread)) {
        (true, Some(room)) if room.without.get() == 0 => {
            room.without.set(object);
            meeting::watch_more();
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
            gate::wait(thread, operation.object, operation.pc);
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

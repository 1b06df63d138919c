//! Mutexes, read-write locks, spin locks.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{RecordKind, acquire_extra, misuse, request};

use super::note;
use super::real::hook;
use crate::back_end::Wait;
use crate::thread::{self, ThreadState};

/// Records the result of acquiring a mutex. A robust mutex may be acquired although its owner died.
#[inline]
pub(super) fn taken(result: i32, tried: bool, mutex: usize, pc: usize) -> i32 {
    if result == 0 || result == libc::EOWNERDEAD {
        let extra = acquire_extra(tried, result == libc::EOWNERDEAD);
        note(RecordKind::Acquire, extra, mutex, pc);
    }
    valid(result, tried, mutex, pc)
}

/// Records a misuse if libc says that the lock is invalid, because it was destroyed or never initialised (a timed lock with an invalid
/// time gives the same error), or that the thread would wait for itself.
#[inline]
fn valid(result: i32, tried: bool, lock: usize, pc: usize) -> i32 {
    match result {
        libc::EINVAL if !tried => note(RecordKind::Misuse, misuse::INVALID_LOCK, lock, pc),
        libc::EDEADLK => note(RecordKind::Misuse, misuse::DOUBLE_LOCK, lock, pc),
        _ => {}
    }
    result
}

/// The fields of a mutex of glibc that we use. C11 mutexes have the same.
#[repr(C)]
struct Mutex {
    /// Not zero while it is held. Mutexes with priority ceilings also have the ceiling there.
    lock: AtomicU32,
    count: u32,
    /// The kernel id of the thread that holds it.
    owner: AtomicU32,
    users: u32,
    kind: AtomicU32,
    spins: u32,
    /// In a robust mutex, the links of its owner's list. Other mutexes do not use this word: we note there which thread
    /// had the mutex last. It is zero in a new mutex, and in the cache line that acquiring the mutex loads anyway.
    last_holder: AtomicU64,
}

/// Robust mutexes and mutexes with priorities, which may use the word for `last_holder` themselves.
const OTHER_KINDS: u32 = 0x70;

impl Mutex {
    /// The mutex at an address that the program passes as a mutex.
    #[inline(always)]
    fn at<'a>(address: usize) -> &'a Mutex {
        // SAFETY: the program passes a mutex, which is larger than this.
        unsafe { &*(address as *const Mutex) }
    }

    /// Waits a little if another thread holds it. Recording makes critical sections longer, so
    /// that threads would sleep, and have to be woken, where without recording they would find the mutex free. Returns whether it is held
    /// nevertheless, so that the thread will have to wait.
    fn await_holder(&self, thread: &ThreadState) -> bool {
        let kind = self.kind.load(Ordering::Relaxed);
        if kind & OTHER_KINDS != 0 {
            return false;
        }
        if thread.holds(self.owner.load(Ordering::Relaxed)) {
            return waits_for_itself(kind);
        }
        self.spin()
    }

    /// Returns whether the mutex is still held.
    fn spin(&self) -> bool {
        /// About two microseconds, less than it takes to sleep and be woken.
        const MOST_LOOKS: u32 = 5;
        for look in 1..=MOST_LOOKS {
            // We look rarely: it is better if a holder that soon acquires the mutex again keeps it.
            for _ in 0..1 << look {
                core::hint::spin_loop();
            }
            if self.lock.load(Ordering::Relaxed) == 0 {
                return false;
            }
        }
        true
    }

    /// Notes that the thread acquired the mutex, which it must hold. Returns whether it also had it last. If the thread ignores
    /// synchronisation, an annotation may record the acquire: then nobody had the mutex last.
    #[inline(always)]
    fn note_holder(&self, thread: &ThreadState) -> bool {
        if self.kind.load(Ordering::Relaxed) & OTHER_KINDS != 0 {
            return false;
        }
        let token = if thread.is_ignoring_sync() { 0 } else { thread.token() };
        let again = token != 0 && self.last_holder.load(Ordering::Relaxed) == token;
        if !again {
            self.last_holder.store(token, Ordering::Relaxed);
        }
        again
    }
}

/// Whether a thread that holds a mutex of this kind and locks it again waits for itself. Recursive mutexes count, others give an error.
fn waits_for_itself(kind: u32) -> bool {
    const TYPE: u32 = 3;
    !matches!((kind & TYPE) as i32, libc::PTHREAD_MUTEX_RECURSIVE | libc::PTHREAD_MUTEX_ERRORCHECK)
}

/// Calls `real`, which waits for a lock that is held. If it waits for long, or for ever, the log says what for.
#[cold]
#[inline(never)]
fn wait(lock: usize, shared: u8, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let Some(thread) = thread::current() else { return real() };
    thread.requests(lock as u64, shared, pc as u64);
    let result = real();
    if result != 0 && result != libc::EOWNERDEAD {
        thread.requests(lock as u64, shared | request::WITHDRAWN, pc as u64);
    }
    result
}

/// Records the result of acquiring a mutex in another way than by `pthread_mutex_lock`.
#[inline]
pub(super) fn mutex_taken(result: i32, tried: bool, mutex: usize, pc: usize) -> i32 {
    if result == 0
        && let Some(thread) = thread::current()
    {
        Mutex::at(mutex).note_holder(thread);
    }
    taken(result, tried, mutex, pc)
}

/// Waits for a mutex by calling `real`.
#[inline(always)]
fn lock(mutex: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let Some(thread) = thread::current() else { return real() };
    let holder = Mutex::at(mutex);
    if thread.about_to_acquire(mutex as u64, pc as u64) == Wait::NotAtAll {
        return 0;
    }
    let result = match holder.lock.load(Ordering::Relaxed) {
        0 => real(),
        _ => wait_for_mutex(thread, mutex, pc, real),
    };
    if result != 0 {
        return taken(result, false, mutex, pc);
    }
    if holder.note_holder(thread) {
        thread.acquired_again(mutex as u64, pc as u64);
    } else {
        thread.acquired(mutex as u64, pc as u64);
    }
    result
}

/// Waits for a mutex that is held.
#[cold]
#[inline(never)]
fn wait_for_mutex(thread: &ThreadState, mutex: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    match Mutex::at(mutex).await_holder(thread) {
        true => wait(mutex, 0, pc, real),
        false => real(),
    }
}

/// Releases a mutex by calling `real`, unless the thread continued without it.
#[inline(always)]
fn unlock(mutex: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let Some(thread) = thread::current() else { return real() };
    if thread.goes_without(mutex as u64) {
        return 0;
    }
    if thread.holds(Mutex::at(mutex).owner.load(Ordering::Relaxed)) {
        thread.released(mutex as u64, pc as u64);
    } else {
        thread.sync(RecordKind::Release, 0, mutex as u64, pc as u64);
    }
    real()
}

/// Announces that the thread is about to wait for a lock or a token. The recorder does not need this, but other back ends do. Returns how the thread waits;
/// for a token always as usual.
#[inline]
pub(super) fn announce(kind: RecordKind, object: usize, pc: usize) -> Wait {
    thread::current().map_or(Wait::AsUsual, |thread| thread.about_to_wait(kind, object as u64, pc as u64))
}

/// The fields of a read-write lock of glibc that we use.
#[repr(C)]
struct ReadWriteLock {
    /// The number of readers, and flags below it.
    readers: AtomicU32,
    _others: [u32; 5],
    /// The kernel id of the thread that holds it for writing.
    writer: AtomicU32,
}

const READER_SHIFT: u32 = 3;

/// Waits for a read-write lock by `real`.
#[inline(always)]
fn lock_read_write(kind: RecordKind, lock: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    // SAFETY: the program passes a lock, which is larger than this.
    let seen = unsafe { &*(lock as *const ReadWriteLock) };
    let is_shared = kind == RecordKind::AcquireShared;
    lock_other(kind, lock, pc, || {
        let is_written = seen.writer.load(Ordering::Relaxed) != 0;
        let waits = is_written || !is_shared && seen.readers.load(Ordering::Relaxed) >> READER_SHIFT != 0;
        match waits {
            true => wait(lock, if is_shared { request::SHARED } else { 0 }, pc, real),
            false => real(),
        }
    })
}

/// Waits for a lock that is no mutex by `real`.
#[inline(always)]
fn lock_other(kind: RecordKind, lock: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    match (announce(kind, lock, pc), kind) {
        (Wait::NotAtAll, _) => 0,
        (Wait::AsUsual, RecordKind::AcquireShared) => taken_shared(real(), false, lock, pc),
        (Wait::AsUsual, _) => taken(real(), false, lock, pc),
    }
}

/// A lock that is no mutex is about to be given back by `real`, unless the thread went on without it.
#[inline(always)]
fn unlock_other(kind: RecordKind, lock: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    if thread::current().is_some_and(|thread| thread.goes_without(lock as u64)) {
        return 0;
    }
    note(kind, 0, lock, pc);
    real()
}

#[inline]
fn taken_shared(result: i32, tried: bool, lock: usize, pc: usize) -> i32 {
    if result == 0 {
        note(RecordKind::AcquireShared, acquire_extra(tried, false), lock, pc);
    }
    valid(result, tried, lock, pc)
}

/// Records the creation or the destruction of an object.
macro_rules! lifetimes {
    ($($kind:ident: $name:ident($($argument:ident),*);)*) => {
        hook! {$(
            fn $name(object: usize $(, $argument: usize)*; pc) -> i32 {
                note(RecordKind::$kind, 0, object, pc);
                real(object $(, $argument)*)
            }
        )*}
    };
}
pub(super) use lifetimes;

lifetimes! {
    Forget: pthread_mutex_init(attributes);
    Destroy: pthread_mutex_destroy();
    Forget: pthread_rwlock_init(attributes);
    Destroy: pthread_rwlock_destroy();
    Forget: pthread_spin_init(shared);
    Destroy: pthread_spin_destroy();
}

hook! {
    fn pthread_mutex_lock(mutex: usize; pc) -> i32 { lock(mutex, pc, || real(mutex)) }
    fn pthread_mutex_trylock(mutex: usize; pc) -> i32 { mutex_taken(real(mutex), true, mutex, pc) }
    fn pthread_mutex_timedlock(mutex: usize, time: usize; pc) -> i32 { mutex_taken(real(mutex, time), true, mutex, pc) }
    fn pthread_mutex_clocklock(mutex: usize, clock: i32, time: usize; pc) -> i32 {
        mutex_taken(real(mutex, clock, time), true, mutex, pc)
    }
    fn pthread_mutex_unlock(mutex: usize; pc) -> i32 { unlock(mutex, pc, || real(mutex)) }

    fn pthread_rwlock_rdlock(lock: usize; pc) -> i32 {
        lock_read_write(RecordKind::AcquireShared, lock, pc, || real(lock))
    }
    fn pthread_rwlock_tryrdlock(lock: usize; pc) -> i32 { taken_shared(real(lock), true, lock, pc) }
    fn pthread_rwlock_timedrdlock(lock: usize, time: usize; pc) -> i32 {
        taken_shared(real(lock, time), true, lock, pc)
    }
    fn pthread_rwlock_clockrdlock(lock: usize, clock: i32, time: usize; pc) -> i32 {
        taken_shared(real(lock, clock, time), true, lock, pc)
    }
    fn pthread_rwlock_wrlock(lock: usize; pc) -> i32 {
        lock_read_write(RecordKind::Acquire, lock, pc, || real(lock))
    }
    fn pthread_rwlock_trywrlock(lock: usize; pc) -> i32 { taken(real(lock), true, lock, pc) }
    fn pthread_rwlock_timedwrlock(lock: usize, time: usize; pc) -> i32 { taken(real(lock, time), true, lock, pc) }
    fn pthread_rwlock_clockwrlock(lock: usize, clock: i32, time: usize; pc) -> i32 {
        taken(real(lock, clock, time), true, lock, pc)
    }
    fn pthread_rwlock_unlock(lock: usize; pc) -> i32 {
        unlock_other(RecordKind::ReleaseAny, lock, pc, || real(lock))
    }

    fn pthread_spin_lock(lock: usize; pc) -> i32 {
        lock_other(RecordKind::Acquire, lock, pc, || real(lock))
    }
    fn pthread_spin_trylock(lock: usize; pc) -> i32 { taken(real(lock), true, lock, pc) }
    fn pthread_spin_unlock(lock: usize; pc) -> i32 {
        unlock_other(RecordKind::Release, lock, pc, || real(lock))
    }

    // C11. glibc's own calls of the functions above do not reach our hooks; success is 0 there, too.
    fn mtx_init(mutex: usize, kind: i32; pc) -> i32 {
        note(RecordKind::Forget, 0, mutex, pc);
        real(mutex, kind)
    }
    fn mtx_destroy(mutex: usize; pc) {
        note(RecordKind::Destroy, 0, mutex, pc);
        real(mutex)
    }
    fn mtx_lock(mutex: usize; pc) -> i32 { lock(mutex, pc, || real(mutex)) }
    fn mtx_trylock(mutex: usize; pc) -> i32 { mutex_taken(real(mutex), true, mutex, pc) }
    fn mtx_timedlock(mutex: usize, time: usize; pc) -> i32 { mutex_taken(real(mutex, time), true, mutex, pc) }
    fn mtx_unlock(mutex: usize; pc) -> i32 { unlock(mutex, pc, || real(mutex)) }
}

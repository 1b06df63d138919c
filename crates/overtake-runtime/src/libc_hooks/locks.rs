//! Mutexes, read-write locks, spin locks.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{RecordKind, acquire_extra, misuse};

use super::note;
use super::real::hook;
use crate::back_end::Wait;
use crate::thread::{self, ThreadState};

/// What came of taking a mutex. A robust one may be taken although its owner died.
#[inline]
pub(super) fn taken(result: i32, tried: bool, mutex: usize, pc: usize) -> i32 {
    if result == 0 || result == libc::EOWNERDEAD {
        let extra = acquire_extra(tried, result == libc::EOWNERDEAD);
        note(RecordKind::Acquire, extra, mutex, pc);
    }
    valid(result, tried, mutex, pc)
}

/// libc says so if a lock is none, because it was destroyed or never made (of a timed lock it says so of a bad time, too), or if the
/// thread would wait for itself.
#[inline]
fn valid(result: i32, tried: bool, lock: usize, pc: usize) -> i32 {
    match result {
        libc::EINVAL if !tried => note(RecordKind::Misuse, misuse::INVALID_LOCK, lock, pc),
        libc::EDEADLK => note(RecordKind::Misuse, misuse::DOUBLE_LOCK, lock, pc),
        _ => {}
    }
    result
}

/// What glibc keeps in a mutex, as far as we look at it. The C11 ones are the same.
#[repr(C)]
struct Mutex {
    /// Not zero while it is held. Mutexes with priority ceilings have those there as well.
    lock: AtomicU32,
    count: u32,
    /// The kernel's number of the thread that holds it.
    owner: AtomicU32,
    users: u32,
    kind: AtomicU32,
    spins: u32,
    /// Where a robust mutex has its neighbours in the list of its owner's. Others leave it alone: we note there which thread
    /// had the mutex last. It is zero in a new mutex, and in the cache line that taking the mutex brings anyway.
    last_holder: AtomicU64,
}

/// Robust mutexes, and those with priorities, which may use more of their memory.
const OTHER_KINDS: u32 = 0x70;

impl Mutex {
    /// The mutex at an address that the program passes for one.
    #[inline(always)]
    fn at<'a>(address: usize) -> &'a Mutex {
        // SAFETY: the program passes a mutex, which is larger than this.
        unsafe { &*(address as *const Mutex) }
    }

    /// Waits a little if another thread holds it. A critical section that is recorded is longer than the program's own, so
    /// that threads would sleep, and have to be woken, where without us they find the mutex free.
    #[inline(always)]
    fn await_holder(&self, thread: &ThreadState) {
        if self.lock.load(Ordering::Relaxed) != 0
            && self.kind.load(Ordering::Relaxed) & OTHER_KINDS == 0
            && !thread.holds(self.owner.load(Ordering::Relaxed))
        {
            self.spin();
        }
    }

    #[cold]
    #[inline(never)]
    fn spin(&self) {
        /// Two microseconds or so, less than it takes to sleep and be woken.
        const MOST_LOOKS: u32 = 5;
        for look in 1..=MOST_LOOKS {
            // Seldom: a holder that takes the mutex again soon had better keep it.
            for _ in 0..1 << look {
                core::hint::spin_loop();
            }
            if self.lock.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }

    /// Notes that the thread took it. Whether it had it last. Only while the mutex is held. If that is not recorded here, it may be
    /// by an annotation: then nobody had it last.
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

/// What came of taking a mutex otherwise than by just waiting for it.
#[inline]
pub(super) fn mutex_taken(result: i32, tried: bool, mutex: usize, pc: usize) -> i32 {
    if result == 0
        && let Some(thread) = thread::current()
    {
        Mutex::at(mutex).note_holder(thread);
    }
    taken(result, tried, mutex, pc)
}

/// Waits for a mutex by `real`.
#[inline(always)]
fn lock(mutex: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let Some(thread) = thread::current() else { return real() };
    let holder = Mutex::at(mutex);
    if thread.about_to_acquire(mutex as u64, pc as u64) == Wait::NotAtAll {
        return 0;
    }
    holder.await_holder(thread);
    let result = real();
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

/// A mutex is about to be given back by `real`, unless the thread went on without it.
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

/// Says that the thread is about to wait for a lock or a token; the recorder does not want to know.
#[inline]
pub(super) fn announce(kind: RecordKind, object: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.about_to_wait(kind, object as u64, pc as u64);
    }
}

#[inline]
fn taken_shared(result: i32, tried: bool, lock: usize, pc: usize) -> i32 {
    if result == 0 {
        note(RecordKind::AcquireShared, acquire_extra(tried, false), lock, pc);
    }
    valid(result, tried, lock, pc)
}

/// Passes on the creation or the end of an object.
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
        announce(RecordKind::AcquireShared, lock, pc);
        taken_shared(real(lock), false, lock, pc)
    }
    fn pthread_rwlock_tryrdlock(lock: usize; pc) -> i32 { taken_shared(real(lock), true, lock, pc) }
    fn pthread_rwlock_timedrdlock(lock: usize, time: usize; pc) -> i32 {
        taken_shared(real(lock, time), true, lock, pc)
    }
    fn pthread_rwlock_clockrdlock(lock: usize, clock: i32, time: usize; pc) -> i32 {
        taken_shared(real(lock, clock, time), true, lock, pc)
    }
    fn pthread_rwlock_wrlock(lock: usize; pc) -> i32 {
        announce(RecordKind::Acquire, lock, pc);
        taken(real(lock), false, lock, pc)
    }
    fn pthread_rwlock_trywrlock(lock: usize; pc) -> i32 { taken(real(lock), true, lock, pc) }
    fn pthread_rwlock_timedwrlock(lock: usize, time: usize; pc) -> i32 { taken(real(lock, time), true, lock, pc) }
    fn pthread_rwlock_clockwrlock(lock: usize, clock: i32, time: usize; pc) -> i32 {
        taken(real(lock, clock, time), true, lock, pc)
    }
    fn pthread_rwlock_unlock(lock: usize; pc) -> i32 {
        note(RecordKind::ReleaseAny, 0, lock, pc);
        real(lock)
    }

    fn pthread_spin_lock(lock: usize; pc) -> i32 {
        announce(RecordKind::Acquire, lock, pc);
        taken(real(lock), false, lock, pc)
    }
    fn pthread_spin_trylock(lock: usize; pc) -> i32 { taken(real(lock), true, lock, pc) }
    fn pthread_spin_unlock(lock: usize; pc) -> i32 {
        note(RecordKind::Release, 0, lock, pc);
        real(lock)
    }

    // C11. glibc's own calls of the functions above do not come past us; success is 0 there, too.
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

//! Mutexes, read-write locks, spin locks.

use overtake_rawlog::{RecordKind, acquire_extra};

use super::note;
use super::real::hook;
use crate::thread;

/// What came of taking a mutex. A robust one may be taken although its owner died.
#[inline]
pub(super) fn taken(result: i32, tried: bool, mutex: usize, pc: usize) -> i32 {
    if result == 0 || result == libc::EOWNERDEAD {
        let extra = acquire_extra(tried, result == libc::EOWNERDEAD);
        note(RecordKind::Acquire, extra, mutex, pc);
    }
    result
}

/// Waits for a mutex by `real`.
#[inline(always)]
fn lock(mutex: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let Some(thread) = thread::current() else { return real() };
    thread.about_to_acquire();
    let result = real();
    if result == 0 {
        thread.acquired(mutex as u64, pc as u64);
        result
    } else {
        taken(result, false, mutex, pc)
    }
}

/// A mutex is about to be given back.
#[inline(always)]
fn unlocked(mutex: usize, pc: usize) {
    let Some(thread) = thread::current() else { return };
    // Where glibc writes down which thread holds a mutex.
    const OWNER: usize = 8;
    // SAFETY: the program passes a mutex.
    let owner = unsafe { ((mutex + OWNER) as *const u32).read_volatile() };
    if thread.holds(owner) {
        thread.released(mutex as u64, pc as u64);
    } else {
        thread.sync(RecordKind::Release, 0, mutex as u64, pc as u64);
    }
}

#[inline]
fn taken_shared(result: i32, tried: bool, lock: usize, pc: usize) -> i32 {
    if result == 0 {
        note(RecordKind::AcquireShared, acquire_extra(tried, false), lock, pc);
    }
    result
}

/// Passes on the creation or the end of an object.
macro_rules! lifetimes {
    ($($name:ident($($argument:ident),*);)*) => {
        hook! {$(
            fn $name(object: usize $(, $argument: usize)*; pc) -> i32 {
                note(RecordKind::Forget, 0, object, pc);
                real(object $(, $argument)*)
            }
        )*}
    };
}
pub(super) use lifetimes;

lifetimes! {
    pthread_mutex_init(attributes);
    pthread_mutex_destroy();
    pthread_rwlock_init(attributes);
    pthread_rwlock_destroy();
    pthread_spin_init(shared);
    pthread_spin_destroy();
}

hook! {
    fn pthread_mutex_lock(mutex: usize; pc) -> i32 { lock(mutex, pc, || real(mutex)) }
    fn pthread_mutex_trylock(mutex: usize; pc) -> i32 { taken(real(mutex), true, mutex, pc) }
    fn pthread_mutex_timedlock(mutex: usize, time: usize; pc) -> i32 { taken(real(mutex, time), true, mutex, pc) }
    fn pthread_mutex_clocklock(mutex: usize, clock: i32, time: usize; pc) -> i32 {
        taken(real(mutex, clock, time), true, mutex, pc)
    }
    fn pthread_mutex_unlock(mutex: usize; pc) -> i32 {
        unlocked(mutex, pc);
        real(mutex)
    }

    fn pthread_rwlock_rdlock(lock: usize; pc) -> i32 { taken_shared(real(lock), false, lock, pc) }
    fn pthread_rwlock_tryrdlock(lock: usize; pc) -> i32 { taken_shared(real(lock), true, lock, pc) }
    fn pthread_rwlock_timedrdlock(lock: usize, time: usize; pc) -> i32 {
        taken_shared(real(lock, time), true, lock, pc)
    }
    fn pthread_rwlock_clockrdlock(lock: usize, clock: i32, time: usize; pc) -> i32 {
        taken_shared(real(lock, clock, time), true, lock, pc)
    }
    fn pthread_rwlock_wrlock(lock: usize; pc) -> i32 { taken(real(lock), false, lock, pc) }
    fn pthread_rwlock_trywrlock(lock: usize; pc) -> i32 { taken(real(lock), true, lock, pc) }
    fn pthread_rwlock_timedwrlock(lock: usize, time: usize; pc) -> i32 { taken(real(lock, time), true, lock, pc) }
    fn pthread_rwlock_clockwrlock(lock: usize, clock: i32, time: usize; pc) -> i32 {
        taken(real(lock, clock, time), true, lock, pc)
    }
    fn pthread_rwlock_unlock(lock: usize; pc) -> i32 {
        note(RecordKind::ReleaseAny, 0, lock, pc);
        real(lock)
    }

    fn pthread_spin_lock(lock: usize; pc) -> i32 { taken(real(lock), false, lock, pc) }
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
        note(RecordKind::Forget, 0, mutex, pc);
        real(mutex)
    }
    fn mtx_lock(mutex: usize; pc) -> i32 { lock(mutex, pc, || real(mutex)) }
    fn mtx_trylock(mutex: usize; pc) -> i32 { taken(real(mutex), true, mutex, pc) }
    fn mtx_timedlock(mutex: usize, time: usize; pc) -> i32 { taken(real(mutex, time), true, mutex, pc) }
    fn mtx_unlock(mutex: usize; pc) -> i32 {
        unlocked(mutex, pc);
        real(mutex)
    }
}

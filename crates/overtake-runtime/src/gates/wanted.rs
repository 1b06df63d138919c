//! Locks for which threads are about to wait.
//!
//! The kernel says for which lock a thread sleeps, but not for which lock a thread spins. So while somebody is held, every other thread writes down here
//! which lock it is about to acquire, and removes it when it has the lock.
//!
//! **What may be lost.** When the table is full, nothing is written down. Then a held thread continues after the time limit only.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::Room;
use crate::sys;

struct Wanted {
    /// The kernel's number of the thread; 0 if the place is free.
    thread: AtomicU32,
    lock: AtomicU64,
}

const PLACES: usize = 256;
static WANTED: [Wanted; PLACES] =
    [const { Wanted { thread: AtomicU32::new(0), lock: AtomicU64::new(0) } }; PLACES];

/// The thread with this room is about to wait for a lock.
pub(super) fn note(room: &Room, lock: u64) {
    forget(room);
    let me = sys::kernel_thread_id();
    let is_free =
        |place: &Wanted| place.thread.compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed).is_ok();
    if let Some((at, place)) = WANTED.iter().enumerate().find(|(_, place)| is_free(place)) {
        place.lock.store(lock, Ordering::Release);
        room.wants.set(at + 1);
    }
}

/// The thread with this room does not wait any more.
#[cold]
#[inline(never)]
pub(super) fn forget(room: &Room) {
    let place = room.wants.replace(0).checked_sub(1).and_then(|at| WANTED.get(at));
    if let Some(place) = place {
        place.lock.store(0, Ordering::Relaxed);
        place.thread.store(0, Ordering::Release); // after the lock: the next owner of the place must not be seen with it
    }
}

/// Forgets everything. The threads were those of another process.
pub(super) fn forget_all() {
    for place in &WANTED {
        place.lock.store(0, Ordering::Relaxed);
        place.thread.store(0, Ordering::Relaxed);
    }
}

/// The lock for which the thread with this kernel number is about to wait.
pub(super) fn by(thread: u32) -> Option<u64> {
    let place = WANTED.iter().find(|place| place.thread.load(Ordering::Acquire) == thread)?;
    Some(place.lock.load(Ordering::Acquire)).filter(|lock| *lock != 0)
}

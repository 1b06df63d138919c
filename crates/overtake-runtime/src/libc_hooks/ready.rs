//! Waiting for descriptors: a thread that learns that there is something to read, or that the other end was closed, comes after the
//! write or the close, whether it reads or not.

use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use super::files::{read_from, used, written};
use super::real::hook;
use super::touch;
use crate::thread;

/// An element of the list that `poll` takes.
#[derive(Clone, Copy)]
#[repr(C)]
struct Polled {
    file: i32,
    wanted: i16,
    found: i16,
}

/// The events that another thread may have caused.
const TELLING: i16 = libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;

/// The program asks which descriptors are ready.
fn asking(files: *const Polled, count: usize, pc: usize) {
    for number in 0..count {
        let at = files as usize + number * size_of::<Polled>();
        touch::<false>(at, core::mem::offset_of!(Polled, found), pc);
    }
}

fn polled(result: i32, files: *const Polled, count: usize, pc: usize) -> i32 {
    if result > 0 && thread::current().is_some() {
        for number in 0..count {
            let found = files as usize + number * size_of::<Polled>() + core::mem::offset_of!(Polled, found);
            touch::<true>(found, size_of::<i16>(), pc);
            // SAFETY: libc just filled this many elements.
            let polled = unsafe { *files.add(number) };
            if polled.found & TELLING != 0 {
                read_from(polled.file, pc);
            }
        }
    }
    result
}

/// A set of descriptors, 64 to a word; null if there is none.
type Set = *const u64;

fn selected(result: i32, count: i32, sets: [Set; 2], pc: usize) -> i32 {
    if result > 0 && thread::current().is_some() {
        for file in 0..count {
            let is_in = |set: Set| {
                // SAFETY: libc just filled the set, as far as `count`.
                !set.is_null() && unsafe { *set.add(file as usize / 64) } >> (file % 64) & 1 == 1
            };
            if sets.into_iter().any(is_in) {
                read_from(file, pc);
            }
        }
    }
    result
}

hook! {
    fn poll(files: *const Polled, count: usize, time: i32; pc) -> i32 {
        asking(files, count, pc);
        polled(real(files, count, time), files, count, pc)
    }
    fn ppoll(files: *const Polled, count: usize, time: usize, mask: usize; pc) -> i32 {
        asking(files, count, pc);
        polled(real(files, count, time, mask), files, count, pc)
    }
    fn select(count: i32, read: Set, write: Set, other: Set, time: usize; pc) -> i32 {
        selected(real(count, read, write, other, time), count, [read, other], pc)
    }
    fn pselect(count: i32, read: Set, write: Set, other: Set, time: usize, mask: usize; pc) -> i32 {
        selected(real(count, read, write, other, time, mask), count, [read, other], pc)
    }

    /// What happened before a descriptor was added comes before what happens when it is ready.
    fn epoll_ctl(file: i32, operation: i32, watched: i32, event: *const libc::epoll_event; pc) -> i32 {
        used(watched, pc);
        if operation != libc::EPOLL_CTL_DEL {
            touch::<false>(event as usize, size_of::<libc::epoll_event>(), pc);
            written(file, pc);
            // SAFETY: our caller passes an event for libc to read.
            watch(file, watched, unsafe { (*event).u64 });
        } else {
            used(file, pc);
        }
        real(file, operation, watched, event)
    }
    fn epoll_wait(file: i32, events: *const libc::epoll_event, count: i32, time: i32; pc) -> i32 {
        ready(real(file, events, count, time), file, events, pc)
    }
    fn epoll_pwait(file: i32, events: *const libc::epoll_event, count: i32, time: i32, mask: usize; pc) -> i32 {
        ready(real(file, events, count, time, mask), file, events, pc)
    }
    fn epoll_pwait2(file: i32, events: *const libc::epoll_event, count: i32, time: usize, mask: usize; pc) -> i32 {
        ready(real(file, events, count, time, mask), file, events, pc)
    }
}

/// Which `epoll` descriptor watches a descriptor, and the data that the program gets when it is ready.
struct Watched {
    by: AtomicI32,
    told: AtomicU64,
}

const MOST_WATCHED: usize = 4096;

/// The entries by descriptor. If several watch a descriptor, only the last one is known; descriptors with larger numbers are not known.
/// Then a thread that learns of an event comes only after the thread that added the descriptor.
static WATCHED: [Watched; MOST_WATCHED] =
    [const { Watched { by: AtomicI32::new(-1), told: AtomicU64::new(0) } }; MOST_WATCHED];

/// A descriptor that may have this data, by a hash of the data.
static TOLD: [AtomicU32; MOST_WATCHED] = [const { AtomicU32::new(0) }; MOST_WATCHED];

fn hint(told: u64) -> &'static AtomicU32 {
    let mixed = told.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    &TOLD[mixed as usize % MOST_WATCHED] // the division bounds the index
}

fn watch(by: i32, file: i32, told: u64) {
    if let Some(watched) = WATCHED.get(file as usize) {
        watched.told.store(told, Ordering::Relaxed);
        watched.by.store(by, Ordering::Relaxed);
        hint(told).store(file as u32, Ordering::Relaxed);
    }
}

/// The descriptor that `by` watches with this data.
fn watched(by: i32, told: u64) -> Option<i32> {
    let file = hint(told).load(Ordering::Relaxed);
    let watched = WATCHED.get(file as usize)?;
    let is_it = watched.by.load(Ordering::Relaxed) == by && watched.told.load(Ordering::Relaxed) == told;
    is_it.then_some(file as i32)
}

/// `count` descriptors that `file` watches are ready.
fn ready(count: i32, file: i32, events: *const libc::epoll_event, pc: usize) -> i32 {
    if count > 0 && thread::current().is_some() {
        read_from(file, pc);
        touch::<true>(events as usize, count as usize * size_of::<libc::epoll_event>(), pc);
        for number in 0..count as usize {
            // SAFETY: libc just filled this many elements.
            let event = unsafe { events.add(number).read_unaligned() };
            let tells = event.events as i32 & !libc::EPOLLOUT != 0;
            if tells && let Some(file) = watched(file, event.u64) {
                read_from(file, pc);
            }
        }
    }
    count
}

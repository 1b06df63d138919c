//! Waiting for descriptors: who learns that there is something to read, or that the other end was closed, comes after whoever
//! wrote or closed, whether it reads or not.

use super::files::read_from;
use super::real::hook;
use crate::thread;

/// What `poll` takes many of.
#[derive(Clone, Copy)]
#[repr(C)]
struct Polled {
    file: i32,
    wanted: i16,
    found: i16,
}

/// What tells of something that another thread did.
const TELLING: i16 = libc::POLLIN | libc::POLLPRI | libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;

fn polled(result: i32, files: *const Polled, count: usize, pc: usize) -> i32 {
    if result > 0 && thread::current().is_some() {
        for number in 0..count {
            // SAFETY: libc just filled so many.
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
        polled(real(files, count, time), files, count, pc)
    }
    fn ppoll(files: *const Polled, count: usize, time: usize, mask: usize; pc) -> i32 {
        polled(real(files, count, time, mask), files, count, pc)
    }
    fn select(count: i32, read: Set, write: Set, other: Set, time: usize; pc) -> i32 {
        selected(real(count, read, write, other, time), count, [read, other], pc)
    }
    fn pselect(count: i32, read: Set, write: Set, other: Set, time: usize, mask: usize; pc) -> i32 {
        selected(real(count, read, write, other, time, mask), count, [read, other], pc)
    }
}

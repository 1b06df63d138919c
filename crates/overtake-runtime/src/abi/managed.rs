//! A heap that the program manages itself: `__tsan_java_*`. A virtual machine says where its heap is, and which objects its collector allocates,
//! frees and moves while the threads are stopped. None of this counts as an access.
//!
//! What is asked for again is kept in two tables over the heap: how large the object is that starts at a word, and how often the lock at
//! an address is held. Both are mapped without being present, so that they take memory where the heap is used.

use core::sync::atomic::{AtomicU8, AtomicU32, AtomicUsize, Ordering};

use overtake_rawlog::{RecordKind, release_extra};

use super::interface::{lock_taken, note};
use crate::libc_hooks::real::define;
use crate::sys;
use crate::thread;

const WORD: usize = 8;

static START: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);
/// The bytes of the object that starts at each word of the heap, divided by eight; 0 where none starts.
static SIZES: AtomicUsize = AtomicUsize::new(0);
/// How often the lock at each byte of the heap is held.
static DEPTHS: AtomicUsize = AtomicUsize::new(0);

/// The offset of an address in the heap; `None` outside.
fn offset_of(address: usize) -> Option<usize> {
    let offset = address.checked_sub(START.load(Ordering::Acquire))?;
    (offset < LENGTH.load(Ordering::Acquire)).then_some(offset)
}

fn size_at(address: usize) -> Option<&'static AtomicU32> {
    let offset = offset_of(address)?;
    // SAFETY: the table has an entry for each word of the heap and is never unmapped.
    Some(unsafe { &*(SIZES.load(Ordering::Acquire) as *const AtomicU32).add(offset / WORD) })
}

fn depth_at(address: usize) -> Option<&'static AtomicU8> {
    let offset = offset_of(address)?;
    // SAFETY: the table has an entry for each byte of the heap and is never unmapped.
    Some(unsafe { &*(DEPTHS.load(Ordering::Acquire) as *const AtomicU8).add(offset) })
}

fn start(heap: usize, length: usize) {
    let words = length.div_ceil(WORD);
    let (Ok(sizes), Ok(depths)) =
        (sys::map_private(words * size_of::<u32>()), sys::map_private(words * WORD))
    else {
        return;
    };
    SIZES.store(sizes as usize, Ordering::Release);
    DEPTHS.store(depths as usize, Ordering::Release);
    START.store(heap, Ordering::Release);
    LENGTH.store(words * WORD, Ordering::Release);
}

/// The first object that starts in a range: its address and size.
fn find(from: usize, to: usize) -> Option<(usize, usize)> {
    let mut address = from.next_multiple_of(WORD);
    while address < to {
        match size_at(address)?.load(Ordering::Relaxed) as usize {
            0 => address += WORD,
            words => return Some((address, words * WORD)),
        }
    }
    None
}

/// Calls `each` with every object that starts in a range.
fn objects_in(from: usize, to: usize, mut each: impl FnMut(usize, usize)) {
    let mut next = from;
    while let Some((address, size)) = find(next, to) {
        each(address, size);
        next = address + WORD;
    }
}

fn allocated(address: usize, size: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.ignore(1, 1, 0);
        thread.allocated(address as u64, (size as u64, size as u64), false, pc as u64);
        thread.ignore(-1, -1, 0);
    }
}

fn with_length(kind: RecordKind, address: usize, length: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.sync_with(kind, address as u64, pc as u64, length as u64);
    }
}

/// Moves the entries of both tables, as `memmove` does.
fn move_entries(from: usize, to: usize, length: usize) {
    let move_word = |offset: usize| {
        if let (Some(old), Some(new)) = (size_at(from + offset), size_at(to + offset)) {
            new.store(old.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        }
        for byte in offset..offset + WORD {
            if let (Some(old), Some(new)) = (depth_at(from + byte), depth_at(to + byte)) {
                new.store(old.swap(0, Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    };
    if from < to {
        (0..length).step_by(WORD).rev().for_each(move_word);
    } else if from > to {
        (0..length).step_by(WORD).for_each(move_word);
    }
}

/// Takes a lock `times` times.
fn lock(address: usize, times: i32, pc: usize) {
    for _ in 0..times.max(0) {
        lock_taken(address, false, 0, pc);
    }
    if let Some(depth) = depth_at(address) {
        depth.fetch_add(times.clamp(0, 255) as u8, Ordering::Relaxed);
    }
}

/// Releases a lock `times` times.
fn unlock(address: usize, times: u8, pc: usize) {
    if let Some(depth) = depth_at(address) {
        depth.fetch_sub(depth.load(Ordering::Relaxed).min(times), Ordering::Relaxed);
    }
    for _ in 0..times {
        note(RecordKind::ReleaseAny, release_extra(false), address, pc);
    }
}

define! {
    fn __tsan_java_preinit(library: usize; pc) {}
    fn __tsan_java_init(heap: usize, length: usize; pc) { start(heap, length); }
    fn __tsan_java_fini(; pc) -> i32 { 0 }
    fn __tsan_java_alloc(address: usize, size: usize; pc) {
        if let Some(entry) = size_at(address) {
            entry.store((size / WORD) as u32, Ordering::Relaxed);
        }
        allocated(address, size, pc);
    }
    fn __tsan_java_free(address: usize, length: usize; pc) {
        objects_in(address, address + length, |object, _| {
            if let Some(entry) = size_at(object) {
                entry.store(0, Ordering::Relaxed);
            }
        });
        with_length(RecordKind::Unmap, address, length, pc);
    }
    fn __tsan_java_find(from: *mut usize, to: usize; pc) -> usize {
        // SAFETY: our caller passes where to begin, and expects the object's address there.
        let Some((address, size)) = find(unsafe { *from }, to) else { return 0 };
        // SAFETY: as above.
        unsafe { *from = address };
        size
    }
    fn __tsan_java_move(from: usize, to: usize, length: usize; pc) {
        with_length(RecordKind::MoveFrom, from, length, pc);
        move_entries(from, to, length);
        objects_in(to, to + length, |object, size| allocated(object, size, pc));
        with_length(RecordKind::MoveTo, to, length, pc);
    }
    /// A finalizer runs: it comes after everything that was done to its object, in ways that are not seen.
    fn __tsan_java_finalize(; pc) { note(RecordKind::WaitForAll, 0, 0, pc); }
    fn __tsan_java_mutex_lock(address: usize; pc) { lock(address, 1, pc); }
    fn __tsan_java_mutex_unlock(address: usize; pc) { unlock(address, 1, pc); }
    fn __tsan_java_mutex_read_lock(address: usize; pc) { lock_taken(address, true, 0, pc); }
    fn __tsan_java_mutex_read_unlock(address: usize; pc) {
        note(RecordKind::ReleaseAny, release_extra(true), address, pc);
    }
    fn __tsan_java_mutex_lock_rec(address: usize, times: i32; pc) { lock(address, times, pc); }
    /// Releases a lock as often as it is held, and returns how often that was.
    fn __tsan_java_mutex_unlock_rec(address: usize; pc) -> i32 {
        let times = depth_at(address).map_or(1, |depth| depth.load(Ordering::Relaxed));
        unlock(address, times, pc);
        i32::from(times)
    }
    fn __tsan_java_acquire(object: usize; pc) -> i32 {
        note(RecordKind::Wait, 0, object, pc);
        1
    }
    fn __tsan_java_release(object: usize; pc) -> i32 {
        note(RecordKind::Post, 0, object, pc);
        1
    }
    fn __tsan_java_release_store(object: usize; pc) -> i32 {
        note(RecordKind::Post, 0, object, pc);
        1
    }
}

//! States of ended threads, which new threads use again: starting a thread then maps no memory, and ending one unmaps none.
//!
//! A state in the list is all zeros, apart from [`ThreadState::kept`]. The list has a fixed number of places, so that memory does not stay
//! behind after many threads at once.

use core::cell::Cell;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::ThreadState;
use crate::process;
use crate::recorder::Kept;
use crate::sys;

/// About 70 KiB of memory stay behind for each.
const MOST: usize = 128;

static SPARE: [AtomicPtr<ThreadState>; MOST] = [const { AtomicPtr::new(core::ptr::null_mut()) }; MOST];

/// Enough for the hand-over before death. Only then it is used.
const SIGNAL_STACK_BYTES: usize = 64 << 10;

/// Bytes of a state, and of the stack for signals behind it if there is one.
fn room_bytes() -> usize {
    size_of::<ThreadState>() + if process::is_started_directly() { SIGNAL_STACK_BYTES } else { 0 }
}

impl ThreadState {
    /// The lowest address of the thread's stack for signals, and its size. Only in processes that were started directly.
    pub(crate) fn signal_stack(&self) -> (*mut u8, usize) {
        (core::ptr::from_ref(self).wrapping_add(1).cast_mut().cast(), SIGNAL_STACK_BYTES)
    }
}

/// A state for a new thread: a spare one, or a new one of zeros. `None` if there is no memory.
pub(super) fn take() -> Option<*const ThreadState> {
    let spare = SPARE.iter().find_map(|place| {
        let is_empty = place.load(Ordering::Relaxed).is_null();
        // Acquires what the ended thread wrote.
        let taken = if is_empty {
            core::ptr::null_mut()
        } else {
            place.swap(core::ptr::null_mut(), Ordering::Acquire)
        };
        (!taken.is_null()).then_some(taken.cast_const())
    });
    spare.or_else(new)
}

fn new() -> Option<*const ThreadState> {
    let state: *mut ThreadState = sys::map_private(room_bytes()).ok()?.cast();
    // SAFETY: within the new mapping.
    unsafe { (&raw mut (*state).kept).write(Cell::new(Kept::default())) };
    Some(state.cast_const())
}

/// Keeps the state of an ended thread for another, or frees it if there are enough.
///
/// # Safety
/// A closed state that nobody uses any more.
pub(super) unsafe fn give_back(state: *const ThreadState) {
    // SAFETY: the caller's promise. Zeros are valid.
    let thread = unsafe { &*state };
    let kept = thread.kept.take();
    // SAFETY: the caller's promise; a state has whole words.
    unsafe { sys::clear(state.cast_mut().cast(), size_of::<ThreadState>()) };
    thread.kept.set(kept);
    let is_taken = SPARE.iter().any(|place| {
        // Releases the cleared state.
        place.load(Ordering::Relaxed).is_null()
            && place
                .compare_exchange(
                    core::ptr::null_mut(),
                    state.cast_mut(),
                    Ordering::Release,
                    Ordering::Relaxed,
                )
                .is_ok()
    });
    if !is_taken {
        kept.unmap();
        // SAFETY: the caller's promise.
        unsafe { sys::unmap(state.cast_mut().cast(), room_bytes()) };
    }
}

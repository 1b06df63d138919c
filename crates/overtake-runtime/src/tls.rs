//! Two words of thread-local storage: the address of this thread's state, and its number.
//!
//! The runtime is always linked into the executable, so these words have a fixed distance from the thread pointer, and reading one takes
//! one instruction. (Rust's own thread locals need the standard library, which must not be linked into other people's
//! programs.)

use core::arch::{asm, global_asm};

use crate::thread::{NO_STATE, ThreadState};

global_asm!(
    ".pushsection .tdata,\"awT\",@progbits",
    ".hidden overtake_thread_state",
    ".globl overtake_thread_state",
    ".type overtake_thread_state, @object",
    ".p2align 3",
    "overtake_thread_state:",
    ".quad {no_state}",
    ".size overtake_thread_state, 8",
    ".popsection",
    ".pushsection .tbss,\"awT\",@nobits",
    ".p2align 3",
    ".hidden overtake_thread_number",
    ".globl overtake_thread_number",
    ".type overtake_thread_number, @object",
    "overtake_thread_number:",
    ".zero 8",
    ".size overtake_thread_number, 8",
    ".popsection",
    no_state = sym NO_STATE,
);

/// This thread's state or a placeholder; the first of [`NO_STATE`] until it is set up.
#[inline(always)]
pub(crate) fn state() -> *const ThreadState {
    let state;
    // SAFETY: reads one word of this thread's own storage.
    unsafe {
        asm!(
            "mov {state}, qword ptr fs:[overtake_thread_state@tpoff]",
            state = out(reg) state,
            options(nostack, preserves_flags, readonly),
        );
    }
    state
}

/// Sets this thread's state.
pub(crate) fn set_state(state: *const ThreadState) {
    // SAFETY: writes one word of this thread's own storage.
    unsafe {
        asm!(
            "mov qword ptr fs:[overtake_thread_state@tpoff], {state}",
            state = in(reg) state,
            options(nostack, preserves_flags),
        );
    }
}

/// Sets this thread's number.
pub(crate) fn set_number(number: u32) {
    // SAFETY: writes one word of this thread's own storage. Zero means that there is none yet.
    unsafe {
        asm!(
            "mov qword ptr fs:[overtake_thread_number@tpoff], {number}",
            number = in(reg) u64::from(number) + 1,
            options(nostack, preserves_flags),
        );
    }
}

/// The number of another thread; `None` if it has not started yet.
///
/// # Safety
/// The handle must belong to a thread that was not joined, and that has not ended detached. (With glibc, the handle is the thread pointer.)
pub(crate) unsafe fn number_of(handle: libc::pthread_t) -> Option<u32> {
    let offset: isize;
    // SAFETY: computes a number.
    unsafe {
        asm!("lea {offset}, [overtake_thread_number@tpoff]", offset = out(reg) offset, options(nostack, nomem, preserves_flags));
    }
    let word = (handle as usize).wrapping_add_signed(offset) as *const u64;
    // SAFETY: the caller's promise keeps the thread's storage there.
    let number = unsafe { word.read_volatile() };
    number.checked_sub(1).map(|number| number as u32)
}

/// This thread's thread pointer.
pub(crate) fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: the first word at the thread pointer is the pointer itself.
    unsafe {
        asm!("mov {pointer}, qword ptr fs:[0]", pointer = out(reg) pointer, options(nostack, preserves_flags, readonly));
    }
    pointer
}

//! The one word of thread-local storage: where this thread's state is.
//!
//! The runtime is always linked into the executable, so the word has a fixed distance from the thread pointer and reading it is
//! one instruction. (Rust's own thread locals need the standard library, which must not be linked into other people's
//! programs.)

use core::arch::{asm, global_asm};

use crate::thread::ThreadState;

global_asm!(
    ".pushsection .tbss,\"awT\",@nobits",
    ".hidden overtake_thread_state",
    ".globl overtake_thread_state",
    ".type overtake_thread_state, @object",
    ".p2align 3",
    "overtake_thread_state:",
    ".zero 8",
    ".size overtake_thread_state, 8",
    ".popsection",
);

/// This thread's state; null until it is set up.
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

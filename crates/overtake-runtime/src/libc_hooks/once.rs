//! Initialisation that happens once: `pthread_once`, C11 `call_once`, C++ function-local statics.
//!
//! After the routine, a post of the control is recorded; after every call, a wait. The compiler checks the guard of a C++ static by an
//! atomic load before it calls us, so releasing a guard is recorded as an atomic store, which such loads see.

use core::sync::atomic::{AtomicU32, Ordering};

use overtake_rawlog::RecordKind;

use super::note;
use super::real::{hook, symbol};
use crate::abi::{self, atomic};
use crate::sys;
use crate::thread;

hook! {
    fn pthread_once(control: usize, routine: usize; pc) -> i32 {
        let result = real(control, recorded(control, routine));
        note(RecordKind::Wait, 0, control, pc);
        result
    }
    fn call_once(control: usize, routine: usize; pc) {
        real(control, recorded(control, routine));
        note(RecordKind::Wait, 0, control, pc);
    }
}

/// The routine to pass to libc: one that calls `routine` and records a post, if this thread records.
fn recorded(control: usize, routine: usize) -> usize {
    match thread::current() {
        Some(thread) => {
            thread.once.set((control, routine));
            run_once as *const () as usize
        }
        None => routine,
    }
}

unsafe extern "C" {
    #[link_name = "overtake_run_once"]
    fn run_once();
}

// Calls the routine and keeps the control for the post. This is assembly because exceptions may pass through it.
core::arch::global_asm!(
    ".pushsection .text.overtake_run_once,\"ax\",@progbits",
    ".hidden overtake_run_once",
    ".globl overtake_run_once",
    ".type overtake_run_once, @function",
    "overtake_run_once:",
    ".cfi_startproc",
    "push rbx",
    ".cfi_adjust_cfa_offset 8",
    ".cfi_rel_offset rbx, 0",
    "call {start}",
    "mov rbx, rdx",
    "call rax",
    "mov rdi, rbx",
    "pop rbx",
    ".cfi_adjust_cfa_offset -8",
    ".cfi_restore rbx",
    "jmp {end}",
    ".cfi_endproc",
    ".size overtake_run_once, . - overtake_run_once",
    ".popsection",
    start = sym once_starts,
    end = sym once_ended,
);

/// Returned in two registers: what to call, and for which control.
#[repr(C)]
struct Once {
    routine: usize,
    control: usize,
}

extern "C" fn once_starts() -> Once {
    let (control, routine) =
        thread::current().map_or((0, nothing as *const () as usize), |thread| thread.once.get());
    Once { routine, control }
}

extern "C" fn nothing() {}

extern "C" fn once_ended(control: usize) {
    note(RecordKind::Post, 0, control, 0);
}

/// The parts of a guard according to the C++ ABI: the first byte is set once the object is initialised.
const DONE: u32 = 1;
const PENDING: u32 = 1 << 8;
const ACQUIRE: u32 = 2;
const RELEASE: u32 = 3;

fn guard_at(address: usize) -> &'static AtomicU32 {
    // SAFETY: compilers pass the address of a guard, 8 bytes, aligned.
    unsafe { AtomicU32::from_ptr(address as *mut u32) }
}

// This replaces the library's function and does not call it: libstdc++ may be linked statically, and then there is none behind ours.
extern "C" fn __cxa_guard_acquire(guard: usize, pc: usize) -> i32 {
    abi::may_block(true);
    let is_first = acquire_guard(guard, pc);
    abi::may_block(false);
    i32::from(is_first)
}

/// Waits until the guard is done, or takes it. Whether it was taken.
fn acquire_guard(guard: usize, pc: usize) -> bool {
    let word = guard_at(guard);
    loop {
        match word.compare_exchange(0, PENDING, Ordering::Acquire, Ordering::Acquire) {
            Ok(_) => return true,
            Err(seen) if seen & DONE != 0 => {
                atomic::note(guard, 1, pc, RecordKind::AtomicLoad, ACQUIRE, || ());
                return false;
            }
            Err(seen) => sys::wait_while(word.as_ptr(), seen),
        }
    }
}
symbol!(hooked __cxa_guard_acquire, "mov rsi, [rsp]", "jmp {handler}");

extern "C" fn __cxa_guard_release(guard: usize, pc: usize) {
    let word = guard_at(guard);
    atomic::note(guard, 1, pc, RecordKind::AtomicStore, RELEASE, || word.store(DONE, Ordering::Release));
    sys::wake_all(word.as_ptr());
}
symbol!(hooked __cxa_guard_release, "mov rsi, [rsp]", "jmp {handler}");

extern "C" fn __cxa_guard_abort(guard: usize, _pc: usize) {
    guard_at(guard).store(0, Ordering::Release);
    sys::wake_all(guard_at(guard).as_ptr());
}
symbol!(hooked __cxa_guard_abort, "mov rsi, [rsp]", "jmp {handler}");

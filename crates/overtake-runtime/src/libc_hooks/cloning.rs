//! `clone` without shared memory: a child process as by `fork`, on a stack of its own.
//!
//! No `fork` handler runs for it. So the child starts with a function of ours, which gives it a log of its own. A child that shares our
//! memory is left alone: nothing is known of it.

use core::ffi::c_void;

use super::real::{Real, symbol};
use crate::process;

/// The registers in which the arguments are, as our symbol pushes them.
#[repr(C)]
struct Arguments {
    _variadic: usize,
    _fifth_and_sixth: [usize; 2],
    argument: usize,
    flags: usize,
    stack: usize,
    routine: usize,
}

/// What the child does. It lies at the top of the child's stack.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Start {
    routine: extern "C" fn(usize) -> i32,
    argument: usize,
}

/// Changes the arguments for a child process, and returns where to jump.
extern "C" fn clone(arguments: &mut Arguments) -> *mut c_void {
    #[used]
    #[unsafe(link_section = "overtake_real")]
    static REAL: Real = Real::new("clone\0");
    let Arguments { argument, flags, stack, routine, .. } = *arguments;
    let is_process = flags & libc::CLONE_VM as usize == 0;
    if is_process && stack != 0 && routine != 0 && process::is_recording() {
        let start = ((stack - size_of::<Start>()) & !(align_of::<Start>() - 1)) as *mut Start;
        // SAFETY: the caller passes a function, and the end of memory for the child's stack.
        unsafe {
            let routine = core::mem::transmute::<usize, extern "C" fn(usize) -> i32>(routine);
            start.write(Start { routine, argument });
        }
        arguments.stack = start as usize;
        arguments.argument = start as usize;
        arguments.routine = run_child as *const () as usize;
    }
    REAL.address()
}

extern "C" fn run_child(start: *const Start) -> i32 {
    // SAFETY: written by `clone`, in the memory of which this process has a copy.
    let Start { routine, argument } = unsafe { *start };
    process::restart_after_fork();
    let code = routine(argument);
    process::end_now(b"_exit", code);
    code
}

symbol!(hooked clone,
    "push rdi", ".cfi_adjust_cfa_offset 8",
    "push rsi", ".cfi_adjust_cfa_offset 8",
    "push rdx", ".cfi_adjust_cfa_offset 8",
    "push rcx", ".cfi_adjust_cfa_offset 8",
    "push r8", ".cfi_adjust_cfa_offset 8",
    "push r9", ".cfi_adjust_cfa_offset 8",
    "push rax", ".cfi_adjust_cfa_offset 8",
    "mov rdi, rsp",
    "call {handler}",
    "mov r11, rax",
    "pop rax", ".cfi_adjust_cfa_offset -8",
    "pop r9", ".cfi_adjust_cfa_offset -8",
    "pop r8", ".cfi_adjust_cfa_offset -8",
    "pop rcx", ".cfi_adjust_cfa_offset -8",
    "pop rdx", ".cfi_adjust_cfa_offset -8",
    "pop rsi", ".cfi_adjust_cfa_offset -8",
    "pop rdi", ".cfi_adjust_cfa_offset -8",
    "jmp r11");

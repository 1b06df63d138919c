//! Ways to leave: `fork`, `exec`, `_exit`, `abort`; and modules that come and go.
//!
//! `fork` itself is not interposed: our `fork` handler is the first to run in a child. Exit handlers see `exit` and
//! `quick_exit`.

use core::ffi::c_void;

use overtake_rawlog::RecordKind;

use super::note;
use super::real::{Real, hook, symbol};
use crate::{process, thread};

hook! {
    /// A child that shares our memory would write into our log: it gets its own.
    fn vfork(; pc) -> i32 {
        // SAFETY: the caller expects a child.
        unsafe { libc::fork() }
    }
    fn _Fork(; pc) -> i32 {
        let child = real();
        if child == 0 {
            process::restart_after_fork();
        }
        child
    }
    /// Whatever thread runs an exit handler, what its registration came after comes before it. Handlers run in reverse
    /// order: a second one of ours runs right before each.
    fn __cxa_atexit(handler: usize, argument: usize, module: usize; pc) -> i32 {
        note(RecordKind::Post, 0, exit_handlers(), pc);
        let result = real(handler, argument, module);
        if result == 0 {
            real(before_exit_handler as *const () as usize, 0, module);
        }
        result
    }
    fn on_exit(handler: usize, argument: usize; pc) -> i32 {
        note(RecordKind::Post, 0, exit_handlers(), pc);
        let result = real(handler, argument);
        if result == 0 {
            real(before_exit_handler as *const () as usize, 0);
        }
        result
    }
    fn _exit(code: i32; pc) {
        process::end_now(b"_exit");
        real(code)
    }
    fn _Exit(code: i32; pc) {
        process::end_now(b"_exit");
        real(code)
    }
    fn abort(; pc) {
        process::finish(b"abort");
        crate::hand_over::hand_over(false);
        real()
    }
    fn execve(path: usize, arguments: usize, environment: usize; pc) -> i32 {
        process::finish(b"exec");
        real(path, arguments, environment)
    }
    fn execv(path: usize, arguments: usize; pc) -> i32 {
        process::finish(b"exec");
        real(path, arguments)
    }
    fn execvp(file: usize, arguments: usize; pc) -> i32 {
        process::finish(b"exec");
        real(file, arguments)
    }
    fn execvpe(file: usize, arguments: usize, environment: usize; pc) -> i32 {
        process::finish(b"exec");
        real(file, arguments, environment)
    }
    fn fexecve(file: i32, arguments: usize, environment: usize; pc) -> i32 {
        process::finish(b"exec");
        real(file, arguments, environment)
    }
    fn execveat(directory: i32, path: usize, arguments: usize, environment: usize, flags: i32; pc) -> i32 {
        process::finish(b"exec");
        real(directory, path, arguments, environment, flags)
    }
}

static EXIT_HANDLERS: u8 = 0;

/// The object that stands for the registration of exit handlers.
fn exit_handlers() -> usize {
    &raw const EXIT_HANDLERS as usize
}

extern "C" fn before_exit_handler() {
    note(RecordKind::Wait, 0, exit_handlers(), 0);
}

/// A thread that jumps out of a signal handler is not in it any more.
fn jumps() {
    if let Some(thread) = thread::recording() {
        thread.jumps();
    }
}

/// Functions that must be entered as if we were not there, because they take any number of arguments or ask who called them:
/// the handler runs first and says where to jump.
macro_rules! pass {
    ($($name:ident => $before:expr;)*) => {$(
        extern "C" fn $name() -> *mut c_void {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: Real = Real::new(concat!(stringify!($name), "\0"));
            $before;
            REAL.address()
        }
        symbol!(hooked $name,
            "push rdi", ".cfi_adjust_cfa_offset 8",
            "push rsi", ".cfi_adjust_cfa_offset 8",
            "push rdx", ".cfi_adjust_cfa_offset 8",
            "push rcx", ".cfi_adjust_cfa_offset 8",
            "push r8", ".cfi_adjust_cfa_offset 8",
            "push r9", ".cfi_adjust_cfa_offset 8",
            "push rax", ".cfi_adjust_cfa_offset 8",
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
    )*};
}

pass! {
    execl => process::finish(b"exec");
    execlp => process::finish(b"exec");
    execle => process::finish(b"exec");
    dlopen => process::expect_new_modules();
    dlmopen => process::expect_new_modules();
    dlclose => process::note_modules();
    longjmp => jumps();
    _longjmp => jumps();
    siglongjmp => jumps();
    __longjmp_chk => jumps();
}

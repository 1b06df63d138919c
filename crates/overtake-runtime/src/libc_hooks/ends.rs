//! The end of a process or its copy (`_exit`, `abort`, `vfork`), sandboxes, and modules that are loaded and unloaded. `exec` is in
//! `becoming`.
//!
//! `fork` itself is not interposed: our `fork` handler is the first to run in a child. Our exit handlers handle `exit` and
//! `quick_exit`.

use core::ffi::c_void;

use overtake_rawlog::RecordKind;

use super::note;
use super::real::{Real, hook, symbol};
use crate::sys::{self, Fd};
use crate::{process, sandbox, thread};

hook! {
    /// A child that shares our memory would write into our log. So it becomes a child with its own memory and log.
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
    /// As libc does it, except that we end the first process.
    fn daemon(stays: i32, keeps: i32; pc) -> i32 {
        // SAFETY: what the caller expects.
        match unsafe { libc::fork() } {
            0 => become_daemon(stays != 0, keeps != 0),
            -1 => -1,
            _ => {
                process::end_now(b"_exit", 0);
                sys::exit_now(0)
            }
        }
    }
    /// What happened before the registration of an exit handler comes before the handler, whichever thread runs it. Handlers run in
    /// reverse order, so a second handler of ours runs right before each.
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
        process::end_now(b"_exit", code);
        real(code)
    }
    fn _Exit(code: i32; pc) {
        process::end_now(b"_exit", code);
        real(code)
    }
    fn quick_exit(code: i32; pc) {
        process::note_quick_code(code);
        real(code)
    }
    fn abort(; pc) {
        process::finish(b"abort");
        crate::hand_over::hand_over(false, libc::SIGABRT);
        real()
    }
}

/// In the child: a session of its own, in the root directory, without a terminal.
fn become_daemon(stays: bool, keeps: bool) -> i32 {
    // SAFETY: touches no memory but the text.
    unsafe {
        if libc::setsid() < 0 || !stays && libc::chdir(c"/".as_ptr()) < 0 {
            return -1;
        }
    }
    if !keeps {
        let Ok(nothing) = Fd::open(b"/dev/null\0", libc::O_RDWR) else { return -1 };
        (0..3).for_each(|number| nothing.replace(Fd(number)));
        if nothing.0 > 2 {
            nothing.close();
        }
    }
    0
}

static EXIT_HANDLERS: u8 = 0;

/// The object that is posted when an exit handler is registered.
fn exit_handlers() -> usize {
    &raw const EXIT_HANDLERS as usize
}

extern "C" fn before_exit_handler() {
    note(RecordKind::Wait, 0, exit_handlers(), 0);
}

/// A thread that jumps out of a signal handler has left it.
fn jumps() {
    if let Some(thread) = thread::recording() {
        thread.jumps();
    }
}

/// A system call that the program makes by its number.
fn system_call(number: i64, arguments: [usize; 3]) {
    match number {
        libc::SYS_exit_group => process::end_now(b"_exit", arguments[0] as i32),
        // The last thread ends the process.
        libc::SYS_exit if sys::is_last_thread() => process::end_now(b"_exit", arguments[0] as i32),
        _ => sandbox::system_call(number, arguments),
    }
}

/// Functions that must be entered by a jump, because they take any number of arguments or look at their caller:
/// the handler runs first and returns where to jump.
macro_rules! pass {
    ($($name:ident($($argument:ident: $type:ty),*) => $before:expr;)*) => {$(
        extern "C" fn $name($($argument: $type),*) -> *mut c_void {
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
    dlopen() => process::expect_new_modules();
    dlmopen() => process::expect_new_modules();
    dlclose() => process::note_modules();
    prctl(option: i32, argument: usize, more: usize) => sandbox::prctl(option, argument, more);
    syscall(number: i64, first: usize, second: usize, third: usize) => system_call(number, [first, second, third]);
    longjmp() => jumps();
    _longjmp() => jumps();
    siglongjmp() => jumps();
    __longjmp_chk() => jumps();
}

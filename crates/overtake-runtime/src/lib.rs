//! The static library linked into instrumented programs: the functions that `-fsanitize=thread` code calls, and the recorder.
//!
//! gcc and clang insert a call of `__tsan_read4` and the like before every memory access. This library defines these functions and the
//! libc functions that synchronise, and passes the calls to a back end (`back_end`). By default this is the recorder (`recorder`), which
//! writes them to a file that another process analyses later.
//!
//! **Rules of the hooks** and of every back end, and what breaks without each:
//!   H1  No allocation, no lock that a signal handler of the same thread could wait for, no call of a libc function that we
//!       interpose: hooks run inside `malloc`, inside signal handlers, and between `fork` and `exec`. The start of a thread
//!       is the exception: it asks libc where its stack is (`own_stack`).
//!   H2  No panic and no unwinding into C: the calling frames are not Rust.
//!   H3  `errno` does not change: system calls do not go through libc (`sys`).
//!   H4  A record is in the log completely or not at all (`detour`): a signal handler may interrupt a hook and record something.
//!   H5  A stamp is taken while the object is held: after a lock is acquired, before it is released (`stamp`).
#![no_std]
#![cfg_attr(
    not(feature = "staticlib"),
    allow(dead_code, reason = "only the static library exports its handlers")
)]

#[cfg(test)]
extern crate std;

mod abi;
mod back_end;
mod detour;
mod environment;
mod gates;
mod hand_over;
mod libc_hooks;
mod own_stack;
mod process;
mod program;
mod recorder;
mod sandbox;
mod silent;
mod stamp;
mod sys;
mod text;
mod thread;
mod tls;

#[cfg(feature = "staticlib")]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    const MESSAGE: &[u8] = b"overtake: internal error in the recorder, the program is stopped\n";
    sys::Fd(2).write(MESSAGE);
    sys::exit_now(70)
}

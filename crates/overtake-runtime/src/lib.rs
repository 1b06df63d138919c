//! The static library linked into instrumented programs: what `-fsanitize=thread` code calls, and the recorder behind it.
//!
//! gcc and clang turn every memory access into a call of `__tsan_read4` and the like. This library defines these calls, and the
//! libc functions that synchronise, and *records* them: each thread into a file of its own, mapped shared, so that what was
//! recorded survives whatever ends the process. Analysis happens elsewhere, later. The layout of the files is that of
//! `overtake-rawlog`.
//!
//! **Rules of the recording path**, and what breaks without each:
//!   R1  No allocation, no lock, no call of a libc function that we interpose: hooks run inside `malloc`, inside signal
//!       handlers, and between `fork` and `exec`.
//!   R2  No panic and no unwinding into C: the frames above are not ours.
//!   R3  `errno` stays as it is: system calls go past libc (`sys`).
//!   R4  A record is in the log at once or not at all (`detour`): a signal handler may record something in between.
//!   R5  A stamp is taken while the object is held: after a lock is taken, before it is given back (`stamp`).
#![no_std]
#![cfg_attr(
    not(feature = "staticlib"),
    allow(dead_code, reason = "only the static library exports its handlers")
)]

#[cfg(test)]
extern crate std;

mod abi;
mod buffer;
mod coalesce;
mod detour;
mod hand_over;
mod libc_hooks;
mod process;
mod runs;
mod stack;
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

//! libc functions that synchronise, allocate or access memory for the program. Each is recorded and passed on to libc.
//!
//! An acquire is recorded after it happened, a release before it happens. A post (signal, semaphore, write to a
//! pipe) is recorded before it happens, a wait after it succeeded. Thread cancellation may unwind through a handler that waits,
//! so handlers keep nothing that needs dropping across such a call.
//!
//! `fork`, `setjmp` and `pthread_exit` need no hook: handlers that we register with libc, and call stacks that correct themselves, handle
//! them.

mod arguments;
mod becoming;
mod cloning;
mod closing;
pub(crate) mod deaths;
mod effects;
mod ends;
mod files;
mod formatted;
mod letters;
mod limits;
pub(crate) mod loader;
mod locks;
mod memory;
mod messages;
mod numbers;
mod once;
mod opening;
mod operators;
mod paths;
mod ready;
pub(crate) mod real;
mod signals;
mod streams;
mod strings;
mod syscalls;
pub(crate) mod system;
pub(crate) mod threads;
mod waits;

use overtake_rawlog::RecordKind;

use crate::{program, thread};

/// Called before anything is recorded.
pub(crate) fn start() {
    real::look_up_all();
    program::start();
    loader::start();
    threads::start();
}

/// Records a synchronisation operation, if this thread records.
#[inline]
fn note(kind: RecordKind, extra: u8, object: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.sync(kind, extra, object as u64, pc as u64);
    }
}

/// As [`note`], with one more number.
#[inline]
fn note_with(kind: RecordKind, object: usize, pc: usize, more: u64) {
    if let Some(thread) = thread::current() {
        thread.sync_with(kind, object as u64, pc as u64, more);
    }
}

/// If `pc` is in the C++ library, the place that called the library; else `pc` itself.
fn caller_or(pc: usize) -> usize {
    thread::current().map_or(pc, |thread| thread.caller_or(pc as u64) as usize)
}

/// Records that the program read (or wrote) memory.
#[inline]
fn touch<const WRITE: bool>(address: usize, length: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        let library = thread.enter_library(pc);
        thread.access_range::<WRITE>(address, length, pc);
        thread.leave_library(library);
    }
}

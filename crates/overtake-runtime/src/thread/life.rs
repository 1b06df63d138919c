//! How threads start, end and fork.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{RecordKind, THREAD_MAGIC, ThreadHeader};

use super::{FAILED, OVER, SETTING_UP, ThreadState, current, is_state, recording, spare};
use crate::back_end;
use crate::libc_hooks;
use crate::own_stack;
use crate::process;
use crate::sys::{self, NoSignals};
use crate::tls;

/// Number of a thread whose creator is unknown.
pub(crate) const NO_THREAD: u32 = u32::MAX;

static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// Events of threads that have ended or could not be set up.
static LOST: AtomicU64 = AtomicU64::new(0);

/// The next free thread number.
pub(crate) fn next_number() -> u32 {
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// Whether this process never had another thread.
pub(crate) fn is_the_only_one() -> bool {
    NEXT_NUMBER.load(Ordering::Relaxed) <= 1
}

/// Number of events that were not recorded because their thread had ended or could not be set up.
pub(crate) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
}

#[cold]
#[inline(never)]
pub(super) fn set_up(state: *const ThreadState) -> Option<&'static ThreadState> {
    if state == SETTING_UP || !process::is_recording() {
        return None;
    }
    if state == OVER || state == FAILED {
        LOST.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    let _quiet = NoSignals::new();
    if tls::state() == state {
        begin(next_number(), NO_THREAD, 0); // unless a signal handler has
    }
    recording()
}

/// Starts recording this thread with this number. Signals are blocked.
pub(crate) fn begin(number: u32, parent: u32, start: u64) {
    tls::set_state(SETTING_UP);
    tls::set_number(number);
    let kernel_id = sys::kernel_thread_id();
    let stack = own_stack::current(kernel_id == process::id());
    let state = new_state(number, kernel_id, parent, stack);
    libc_hooks::threads::end_with_thread();
    tls::set_state(if state.is_null() { FAILED } else { state });
    if let Some(thread) = current() {
        let (lowest, bytes) = thread.signal_stack();
        libc_hooks::deaths::give_stack(lowest, bytes);
        thread.sync(RecordKind::ThreadStart, 0, u64::from(number), start);
    }
}

/// A state, with a log of its own if the recorder is in use; null if there is no memory. Signals are blocked.
fn new_state(number: u32, kernel_id: u32, parent: u32, stack: (u64, u64)) -> *const ThreadState {
    let Some(state) = spare::take() else { return core::ptr::null() };
    // SAFETY: zeroed memory of the right size, for which zeros are valid; mappings are page-aligned.
    let thread = unsafe { &*state };
    thread.number.set(number);
    let is_other = back_end::other().is_some();
    if !thread.recorder.open(stack, is_other || process::is_exact(), thread.kept.take()) {
        // SAFETY: nobody uses it yet.
        unsafe { spare::give_back(state) };
        return core::ptr::null();
    }
    thread.identify(kernel_id);
    if is_other {
        thread.recorder.stand_aside();
    } else {
        thread.open_log(parent);
    }
    state
}

/// A new fiber: a thread of its own that runs on any thread. Null if there is no memory.
pub(crate) fn new_fiber(number: u32, parent: u32) -> *const ThreadState {
    let _quiet = NoSignals::new();
    let fiber = new_state(number, sys::kernel_thread_id(), parent, (0, 0));
    // SAFETY: fresh, known only here.
    if let Some(fiber) = unsafe { fiber.as_ref() } {
        fiber.become_fiber();
        fiber.sync(RecordKind::ThreadStart, 2, u64::from(number), 0);
    }
    fiber
}

/// Ends the recording of this thread, which is about to end. Signals stay blocked: libc blocks them a moment later anyway, and a handler
/// that ran in between would not be recorded.
pub(crate) fn end() {
    core::mem::forget(NoSignals::new());
    let state = tls::state();
    tls::set_state(OVER);
    if is_state(state) {
        // SAFETY: set by `begin`; the thread-local pointer was the only one.
        unsafe { end_state(state) };
    }
}

/// # Safety
/// A state that nobody uses any more.
pub(crate) unsafe fn end_state(state: *const ThreadState) {
    // SAFETY: the caller's promise.
    let thread = unsafe { &*state };
    thread.end_ignoring();
    thread.sync(RecordKind::ThreadEnd, 0, u64::from(thread.number()), 0);
    thread.kept.set(thread.recorder.close());
    // SAFETY: the caller's promise.
    unsafe { spare::give_back(state) };
}

/// In a child process after `fork`, before it has a log: forgets the parent's log.
pub(crate) fn abandon_after_fork() {
    NEXT_NUMBER.store(0, Ordering::Relaxed);
    LOST.store(0, Ordering::Relaxed);
    libc_hooks::threads::restart_after_fork();
    if let Some(thread) = recording() {
        thread.recorder.abandon_log();
    }
}

/// In a child process after `fork`, once it has a log: this thread continues as thread 0, with its call stack.
pub(crate) fn go_on_after_fork() {
    let number = next_number();
    tls::set_number(number);
    if let Some(thread) = recording() {
        thread.number.set(number);
        thread.identify(sys::kernel_thread_id());
        if back_end::other().is_none() {
            thread.open_log(NO_THREAD);
        }
        thread.sync(RecordKind::ThreadStart, 1, u64::from(number), 0);
    }
}

/// In a child process after `fork` that has no log.
pub(crate) fn stop_after_fork() {
    tls::set_state(FAILED);
}

impl ThreadState {
    /// Notes which thread of which process runs this.
    fn identify(&self, kernel_id: u32) {
        self.kernel_id.set(kernel_id);
        self.token.set((u64::from(process::id()) << 32) | (u64::from(self.number()) + 1));
    }

    fn open_log(&self, parent: u32) {
        let (stack_low, stack_high) = self.recorder.own_stack();
        self.recorder.open_log(&ThreadHeader {
            magic: THREAD_MAGIC,
            number: self.number(),
            parent,
            tid: self.kernel_id.get(),
            ended: 0,
            stack_low,
            stack_high,
            thread_pointer: tls::thread_pointer() as u64,
            lost_bytes: 0,
            large: 0,
            closing_writes: 0,
            coalesced: 0,
        });
    }
}

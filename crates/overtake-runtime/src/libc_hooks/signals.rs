//! Signals: what happened before a handler was installed, and before a signal was sent, comes before what the handler does.
//!
//! The kernel gets a handler of ours, which calls the program's. Nothing is delayed. A program that asks which handler is
//! installed gets its own.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use overtake_rawlog::{RecordKind, misuse};

use super::real::hook;
use super::{deaths, note};
use crate::thread::ThreadState;
use crate::{detour, process, sys, thread};

pub(super) const SIGNALS: usize = 65;

/// The value with which `sigset` blocks a signal, and which it returns if the signal was blocked.
const SIG_HOLD: usize = 2;

/// A handler of the program. Its address is also the object that stands for the signal.
pub(super) type Handler = AtomicUsize;

static HANDLERS: [Handler; SIGNALS] = [const { AtomicUsize::new(0) }; SIGNALS];

fn place(signal: i32) -> Option<&'static Handler> {
    HANDLERS.get(usize::try_from(signal).ok()?)
}

fn object(place: &Handler) -> usize {
    place.as_ptr() as usize
}

/// The handler that the kernel calls.
pub(super) fn kernel_handler() -> usize {
    on_signal as *const () as usize
}

extern "C" fn on_signal(signal: i32, facts: *mut c_void, context: *mut libc::ucontext_t) {
    let Some(place) = place(signal) else { return };
    // SAFETY: the kernel passes it to every handler.
    detour::take(unsafe { &mut *context });
    if let Some(thread) = thread::recording() {
        thread.recorder().interrupted();
        thread.sync(RecordKind::Wait, 0, object(place) as u64, 0);
    }
    let handler = deaths::handler_to_call(signal, place);
    if is_function(handler) {
        let ignored = thread::recording().map(ThreadState::enter_handler);
        // SAFETY: the program's handler; those that take only the signal do not use the other arguments.
        let call = || unsafe {
            let handler: extern "C" fn(i32, *mut c_void, *mut libc::ucontext_t) =
                core::mem::transmute(handler);
            handler(signal, facts, context);
        };
        if keeps_errno(call) || UNCHECKED.contains(&signal) {
            // Nothing to report.
        } else if let Some(thread) = thread::recording() {
            thread.sync(RecordKind::Misuse, misuse::ERRNO, object(place) as u64, handler as u64 + 1);
        }
        if let (Some(ignored), Some(thread)) = (ignored, thread::recording()) {
            thread.leave_handler(ignored);
        }
    }
}

/// Handlers of these signals may change `errno`: those of the first usually end the process, and the others are caused by what
/// the thread itself just did.
const UNCHECKED: [i32; 9] = [
    libc::SIGTERM,
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGILL,
    libc::SIGTRAP,
    libc::SIGFPE,
    libc::SIGPIPE,
    libc::SIGSYS,
    libc::SIGABRT,
];

/// Runs a handler. Returns whether `errno` is the same afterwards.
fn keeps_errno(handler: impl FnOnce()) -> bool {
    // SAFETY: `errno` is the thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        handler();
        *errno == before
    }
}

fn is_function(handler: usize) -> bool {
    ![libc::SIG_DFL, libc::SIG_IGN, libc::SIG_ERR].contains(&handler)
}

fn is_ours(handler: usize) -> bool {
    handler == kernel_handler() || deaths::is_death(handler)
}

/// Installs a handler by calling `real`, with ours in front of it.
fn install(
    signal: i32,
    new: *const libc::sigaction,
    old: *mut libc::sigaction,
    pc: usize,
    real: impl Fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32,
) -> i32 {
    let Some(place) = place(signal).filter(|_| process::is_recording()) else {
        return real(signal, new, old);
    };
    let (before, hidden_before) = (place.load(Ordering::Relaxed), deaths::hidden_flags(signal));
    let result = if new.is_null() {
        real(signal, new, old)
    } else {
        let mut copy = core::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: the program passes an action. (Assigning it would call `memcpy`, which we interpose.)
        let action = unsafe {
            sys::copy(new.cast(), copy.as_mut_ptr().cast(), size_of::<libc::sigaction>());
            copy.assume_init_mut()
        };
        if is_function(action.sa_sigaction) {
            note(RecordKind::Post, 0, object(place), pc);
            place.store(action.sa_sigaction, Ordering::Release);
            action.sa_sigaction = kernel_handler();
        }
        deaths::adapt(signal, action);
        let result = real(signal, action, old);
        if result != 0 {
            place.store(before, Ordering::Release);
            deaths::set_hidden_flags(signal, hidden_before);
        }
        result
    };
    // SAFETY: the program's own, or null.
    let old = unsafe { old.as_mut() };
    if result == 0
        && let Some(old) = old
        && is_ours(old.sa_sigaction)
    {
        deaths::restore(old, hidden_before);
        old.sa_sigaction = if deaths::is_death(old.sa_sigaction) { libc::SIG_DFL } else { before };
    }
    result
}

/// `signal` and the like: does what `sigaction` with these flags does. Returns the old handler.
fn set_handler(signal: i32, handler: usize, flags: i32, pc: usize) -> usize {
    let (mut new, mut old) =
        (core::mem::MaybeUninit::<libc::sigaction>::uninit(), core::mem::MaybeUninit::uninit());
    // SAFETY: zeros are an action with the default handler and an empty mask; the other is filled if the call succeeds.
    unsafe {
        sys::clear(new.as_mut_ptr().cast(), size_of::<libc::sigaction>());
        (*new.as_mut_ptr()).sa_sigaction = handler;
        (*new.as_mut_ptr()).sa_flags = flags;
        let done = sigaction(signal, new.as_ptr(), old.as_mut_ptr(), pc) == 0;
        if done { (*old.as_ptr()).sa_sigaction } else { libc::SIG_ERR }
    }
}

/// A signal is about to be sent.
fn sent(signal: i32, pc: usize) {
    if signal != 0
        && let Some(place) = place(signal)
    {
        note(RecordKind::Post, 0, object(place), pc);
    }
}

/// The thread waited for a signal and got this one; none if the number is not positive.
fn arrived(signal: i32, pc: usize) -> i32 {
    if signal > 0
        && let Some(place) = place(signal)
    {
        note(RecordKind::Wait, 0, object(place), pc);
    }
    signal
}

hook! {
    fn sigaction(signal: i32, new: *const libc::sigaction, old: *mut libc::sigaction; pc) -> i32 {
        install(signal, new, old, pc, real)
    }
    fn signal(signal: i32, handler: usize; pc) -> usize { set_handler(signal, handler, libc::SA_RESTART, pc) }
    fn ssignal(signal: i32, handler: usize; pc) -> usize { set_handler(signal, handler, libc::SA_RESTART, pc) }
    fn sysv_signal(signal: i32, handler: usize; pc) -> usize {
        set_handler(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER, pc)
    }
    fn sigset(signal: i32, handler: usize; pc) -> usize {
        if handler == SIG_HOLD {
            let handlers_own = place(signal).map_or(libc::SIG_ERR, |place| place.load(Ordering::Relaxed));
            return match real(signal, handler) {
                before if is_ours(before) => handlers_own,
                before => before,
            };
        }
        let before = set_handler(signal, handler, 0, pc);
        if before != libc::SIG_ERR && sys::unblock(signal) { SIG_HOLD } else { before }
    }
    fn bsd_signal(signal: i32, handler: usize; pc) -> usize { set_handler(signal, handler, libc::SA_RESTART, pc) }
    fn __sysv_signal(signal: i32, handler: usize; pc) -> usize {
        set_handler(signal, handler, libc::SA_RESETHAND | libc::SA_NODEFER, pc)
    }

    fn kill(process: i32, signal: i32; pc) -> i32 {
        sent(signal, pc);
        real(process, signal)
    }
    fn raise(signal: i32; pc) -> i32 {
        sent(signal, pc);
        real(signal)
    }
    fn pthread_kill(thread: usize, signal: i32; pc) -> i32 {
        sent(signal, pc);
        real(thread, signal)
    }
    fn sigqueue(process: i32, signal: i32, value: usize; pc) -> i32 {
        sent(signal, pc);
        real(process, signal, value)
    }
    fn pthread_sigqueue(thread: usize, signal: i32, value: usize; pc) -> i32 {
        sent(signal, pc);
        real(thread, signal, value)
    }

    fn sigwait(set: usize, signal: *mut i32; pc) -> i32 {
        let result = real(set, signal);
        if result == 0 {
            // SAFETY: filled by the call.
            arrived(unsafe { *signal }, pc);
        }
        result
    }
    fn sigwaitinfo(set: usize, facts: usize; pc) -> i32 { arrived(real(set, facts), pc) }
    fn sigtimedwait(set: usize, facts: usize, time: usize; pc) -> i32 { arrived(real(set, facts, time), pc) }
}

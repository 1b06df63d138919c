//! Death by a signal, in a program that was started directly: the process hands its log over first. The program notices nothing.
//!
//! **Invariants.**
//!   D1  For a deadly signal with the default action the kernel has a handler of ours, [`on_death`], which lets the process die of the
//!       same signal after the hand-over. The program sees the default action.
//!   D2  A handler of the program for one call (`SA_RESETHAND`) becomes one without that flag, and [`on_signal`](super::signals) resets it, so
//!       that D1 holds afterwards.
//!   D3  Each thread has a stack for signals, because [`on_death`] must run after a stack overflow. The program sees none. Until it sets one
//!       itself, its handlers do not ask for it (`SA_ONSTACK`), so that they run where they would without us.
//!
//! **Approximations.** Once the program has set a stack for signals in one thread, its handlers that ask for one run on ours in other threads.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use super::real::{Real, hook};
use super::signals::{Handler, SIGNALS, kernel_handler};
use super::touch;
use crate::thread::ThreadState;
use crate::{detour, hand_over, process, sys, thread};

/// Signals by which programs die because of their own mistakes or limits, or because a user or a service manager ends them. At SIGHUP nobody is
/// there to read a report.
const DEADLY: [i32; 13] = [
    libc::SIGSEGV,
    libc::SIGBUS,
    libc::SIGFPE,
    libc::SIGILL,
    libc::SIGABRT,
    libc::SIGTRAP,
    libc::SIGSYS,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    libc::SIGPIPE,
    libc::SIGALRM,
    libc::SIGINT,
    libc::SIGTERM,
];

/// Signals after which the instruction that caused them is repeated.
const REPEATED: [i32; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL];

/// The flag that libc adds to every action (`SA_RESTORER`), and shows.
const BY_LIBC: i32 = 0x0400_0000;

/// Flags of the program's actions that the kernel does not have (D1 to D3).
static HIDDEN: [AtomicI32; SIGNALS] = [const { AtomicI32::new(0) }; SIGNALS];
/// Whether the program has set a stack for signals.
static HAS_STACKS: AtomicBool = AtomicBool::new(false);

fn hidden(signal: i32) -> Option<&'static AtomicI32> {
    HIDDEN.get(usize::try_from(signal).ok()?)
}

fn is_deadly(signal: i32) -> bool {
    process::is_started_directly() && DEADLY.contains(&signal)
}

/// Hands the log over before death by signals that have the default action now.
pub(crate) fn start() {
    for signal in DEADLY {
        let mut old = core::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: filled if the call succeeds.
        let is_default = unsafe {
            set_action(signal, core::ptr::null(), old.as_mut_ptr()) == 0
                && (*old.as_ptr()).sa_sigaction == libc::SIG_DFL
        };
        if is_default {
            reset(signal);
        }
    }
}

/// Libc's `sigaction`, past our hook.
///
/// # Safety
/// As that function.
unsafe fn set_action(signal: i32, new: *const libc::sigaction, old: *mut libc::sigaction) -> i32 {
    type SetAction = unsafe extern "C" fn(i32, *const libc::sigaction, *mut libc::sigaction) -> i32;
    static REAL: Real = Real::new("sigaction\0");
    let address = REAL.address();
    if address.is_null() {
        return -1;
    }
    // SAFETY: the type is that of libc's function of this name; the caller's promise.
    unsafe { core::mem::transmute::<*mut c_void, SetAction>(address)(signal, new, old) }
}

/// Gives a signal the default action (D1).
fn reset(signal: i32) {
    let mut new = core::mem::MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: zeros are an action with an empty mask.
    unsafe {
        sys::clear(new.as_mut_ptr().cast(), size_of::<libc::sigaction>());
        adapt(signal, &mut *new.as_mut_ptr());
        set_action(signal, new.as_ptr(), core::ptr::null_mut());
    }
    set_hidden_flags(signal, 0);
}

/// Changes an action that the program sets to one for the kernel. Its handler, if it has one, is already replaced by ours.
pub(super) fn adapt(signal: i32, action: &mut libc::sigaction) {
    let mut hides = 0;
    if is_deadly(signal) && action.sa_sigaction == libc::SIG_DFL {
        hides = (action.sa_flags | BY_LIBC) & !(libc::SA_RESETHAND | libc::SA_ONSTACK);
        action.sa_sigaction = on_death as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND | libc::SA_NODEFER;
    } else if action.sa_sigaction == kernel_handler() {
        if is_deadly(signal) {
            hides |= libc::SA_RESETHAND;
        }
        if process::is_started_directly() && !HAS_STACKS.load(Ordering::SeqCst) {
            hides |= libc::SA_ONSTACK;
        }
        hides &= action.sa_flags;
        action.sa_flags &= !hides;
    }
    set_hidden_flags(signal, hides);
}

/// Flags of the program's action that the kernel does not have.
pub(super) fn hidden_flags(signal: i32) -> i32 {
    hidden(signal).map_or(0, |hidden| hidden.load(Ordering::SeqCst))
}

/// Sets these flags: the action that [`adapt`] made was refused.
pub(super) fn set_hidden_flags(signal: i32, flags: i32) {
    if let Some(hidden) = hidden(signal) {
        hidden.store(flags, Ordering::SeqCst);
    }
}

/// Changes an action that the kernel had to what the program set.
pub(super) fn restore(old: &mut libc::sigaction, hidden_flags: i32) {
    if is_death(old.sa_sigaction) {
        old.sa_flags = hidden_flags;
    } else {
        old.sa_flags |= hidden_flags;
    }
}

/// Whether this is our handler for death.
pub(super) fn is_death(handler: usize) -> bool {
    handler == on_death as *const () as usize
}

/// The handler to call for a signal that has arrived. The default if a handler for one call has been called (D2).
pub(super) fn handler_to_call(signal: i32, place: &Handler) -> usize {
    if hidden_flags(signal) & libc::SA_RESETHAND == 0 {
        return place.load(Ordering::Acquire);
    }
    let handler = place.swap(libc::SIG_DFL, Ordering::AcqRel);
    reset(signal);
    handler
}

/// The process is about to die. After the hand-over, the faulting instruction is repeated, or the signal is sent again.
pub(super) extern "C" fn on_death(
    signal: i32,
    facts: *const libc::siginfo_t,
    context: *mut libc::ucontext_t,
) {
    // SAFETY: the kernel passes them to every handler.
    let is_fault = unsafe {
        detour::take(&mut *context);
        (*facts).si_code > 0 && REPEATED.contains(&signal)
    };
    if let Some(thread) = thread::recording() {
        thread.recorder().interrupted();
    }
    process::finish(b"signal");
    let _ = hand_over::report_early(); // the signal decides how the process ends
    if !is_fault {
        sys::signal_self(signal);
    }
}

/// Gives this thread a stack for signals (D3). The memory stays until signals are blocked for ever.
pub(crate) fn give_stack(lowest: *mut u8, bytes: usize) {
    if process::is_started_directly() {
        sys::set_signal_stack(lowest as usize, bytes);
    }
}

/// From now on, handlers of the program that ask for a stack for signals get it.
fn honour_stacks() {
    HAS_STACKS.store(true, Ordering::SeqCst);
    for (signal, hidden) in HIDDEN.iter().enumerate() {
        if hidden.fetch_and(!libc::SA_ONSTACK, Ordering::SeqCst) & libc::SA_ONSTACK == 0 {
            continue;
        }
        let mut action = core::mem::MaybeUninit::<libc::sigaction>::uninit();
        // SAFETY: filled if the call succeeds.
        unsafe {
            if set_action(signal as i32, core::ptr::null(), action.as_mut_ptr()) == 0 {
                (*action.as_mut_ptr()).sa_flags |= libc::SA_ONSTACK;
                set_action(signal as i32, action.as_ptr(), core::ptr::null_mut());
            }
        }
    }
}

/// Sets a stack for signals by calling `real`, or ours where the program wants none.
fn set_stack(
    thread: &ThreadState,
    new: Option<&libc::stack_t>,
    old: *mut libc::stack_t,
    real: impl FnOnce(*const libc::stack_t, *mut libc::stack_t) -> i32,
) -> i32 {
    let wants_none = |new: &libc::stack_t| new.ss_flags & libc::SS_DISABLE != 0;
    if new.is_some_and(|new| !wants_none(new)) {
        honour_stacks();
    }
    let (lowest, bytes) = thread.signal_stack();
    let ours = libc::stack_t { ss_sp: lowest.cast(), ss_flags: 0, ss_size: bytes };
    let result =
        real(new.map_or(core::ptr::null(), |new| if wants_none(new) { &raw const ours } else { new }), old);
    // SAFETY: the program's own, or null; filled by the call.
    if let (0, Some(old)) = (result, unsafe { old.as_mut() })
        && old.ss_sp == lowest.cast()
    {
        *old = libc::stack_t { ss_sp: core::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
    }
    result
}

hook! {
    fn sigaltstack(new: *const libc::stack_t, old: *mut libc::stack_t; pc) -> i32 {
        if !new.is_null() {
            touch::<false>(new as usize, size_of::<libc::stack_t>(), pc);
        }
        let result = match thread::recording().filter(|_| process::is_started_directly()) {
            // SAFETY: the program passes a stack, or null.
            Some(thread) => set_stack(thread, unsafe { new.as_ref() }, old, real),
            None => real(new, old),
        };
        if result == 0 && !old.is_null() {
            touch::<true>(old as usize, size_of::<libc::stack_t>(), pc);
        }
        result
    }
}

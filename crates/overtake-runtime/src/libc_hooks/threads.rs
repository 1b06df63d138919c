//! Threads: creation, joining, the end.
//!
//! A thread's creator chooses its number and passes it on with its argument. The creation is recorded before it happens, so the
//! child's first stamp is later. The recording of a thread ends in the destructor of a thread-specific value. This destructor comes last
//! and sets its value again until libc stops, so that other destructors are recorded. `pthread_exit` needs no hook.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use overtake_rawlog::RecordKind;

use super::memory::{raw_allocate, raw_free};
use super::real::{Real, hook};
use super::{caller_or, note};
use crate::sys::NoSignals;
use crate::{process, sys, thread, tls};

/// How often libc runs destructors that set their values again.
const DESTRUCTOR_ROUNDS: usize = 4;
static KEY: AtomicU32 = AtomicU32::new(u32::MAX);

/// Threads that were created and do not have their number yet.
static STARTING: AtomicU32 = AtomicU32::new(0);
/// Counts threads that have their number. A thread that needs the number of another waits for this to change.
static STARTED: AtomicU32 = AtomicU32::new(0);
/// How many threads wait for that.
static WAITING: AtomicU32 = AtomicU32::new(0);

/// Destructors run in the order of their keys. This is the last key whose value libc has room for without allocating.
const LAST_KEY: u32 = 31;

/// Takes the last of the keys, which libc hands out in order.
pub(super) fn start() {
    let mut key = 0;
    let mut first = u32::MAX;
    // SAFETY: the call writes the key; the keys that are deleted are ours.
    unsafe {
        while libc::pthread_key_create(&raw mut key, Some(on_end)) == 0 {
            first = first.min(key);
            if key >= LAST_KEY {
                break;
            }
        }
        for other in first..key {
            libc::pthread_key_delete(other);
        }
    }
    if first != u32::MAX {
        KEY.store(key, Ordering::Relaxed);
    }
}

/// Makes this thread's recording end with the thread.
pub(crate) fn end_with_thread() {
    renew(DESTRUCTOR_ROUNDS);
}

fn renew(rounds: usize) {
    // SAFETY: our own key, or one that does not exist.
    unsafe { libc::pthread_setspecific(KEY.load(Ordering::Relaxed), rounds as *const c_void) };
}

unsafe extern "C" fn on_end(rounds: *mut c_void) {
    match rounds as usize {
        0 | 1 => thread::end(),
        rounds => renew(rounds - 1),
    }
}

/// What a new thread does.
#[derive(Clone, Copy)]
struct Start {
    routine: extern "C" fn(usize) -> usize,
    argument: usize,
    number: u32,
    parent: u32,
    /// The signals that the thread blocks once it has started.
    signals: u64,
}

/// Creates a thread by calling `real`, which takes the start routine and its argument.
fn create(
    routine: extern "C" fn(usize) -> usize,
    argument: usize,
    is_detached: bool,
    pc: usize,
    real: impl FnOnce(extern "C" fn(usize) -> usize, usize) -> i32,
) -> i32 {
    let Some(creator) = thread::current() else { return real(routine, argument) };
    let number = thread::next_number();
    let start: *mut Start = raw_allocate(size_of::<Start>()).cast();
    if start.is_null() {
        return real(routine, argument);
    }
    let pc = creator.caller_or(pc as u64);
    creator.sync(RecordKind::Fork, 0, u64::from(number), pc);
    if is_detached {
        creator.sync(RecordKind::Detach, 0, u64::from(number), pc);
    }
    process::note_new_modules();
    // A signal handler that runs on the thread before it has its number would give it another number.
    let quiet = NoSignals::new();
    // SAFETY: fresh memory of the right size.
    unsafe {
        start.write(Start { routine, argument, number, parent: creator.number(), signals: quiet.mask() });
    }
    STARTING.fetch_add(1, Ordering::Relaxed);
    // libc may give the stack of a thread that has ended to the new one, and frees the old thread's thread-local blocks here. It knows
    // that the old thread has ended, by means that are not recorded.
    creator.ignore(0, 1, 0);
    let result = real(run_thread, start as usize);
    creator.ignore(0, -1, 0);
    if result != 0 {
        STARTING.fetch_sub(1, Ordering::Relaxed);
        raw_free(start.cast());
    }
    result
}

extern "C" fn run_thread(start: usize) -> usize {
    // The last call needs nothing on the stack, so that it becomes a jump and call stacks begin with the program's own function.
    let (routine, argument) = begin_thread(start);
    routine(argument)
}

/// The routine that the new thread calls, and its argument.
#[inline(never)]
fn begin_thread(start: usize) -> (extern "C" fn(usize) -> usize, usize) {
    let start = start as *mut Start;
    // SAFETY: `create` passed it on; it belongs to this thread now.
    let Start { routine, argument, number, parent, signals } = unsafe { start.read() };
    raw_free(start.cast());
    thread::begin(number, parent, routine as usize as u64);
    drop(NoSignals::from_mask(signals));
    STARTING.fetch_sub(1, Ordering::Release); // pairs with `number_of`
    has_started();
    (routine, argument)
}

/// Wakes the threads that wait for this thread's number.
fn has_started() {
    // Sequentially consistent, as in `wait_for_number`: either that sees the change, or this sees it waiting.
    STARTED.fetch_add(1, Ordering::SeqCst);
    if WAITING.load(Ordering::SeqCst) > 0 {
        sys::wake_all(STARTED.as_ptr());
    }
}

/// In a child process after `fork`: threads that were starting, or waiting, are not in it.
pub(crate) fn restart_after_fork() {
    STARTING.store(0, Ordering::Relaxed);
    WAITING.store(0, Ordering::Relaxed);
}

/// The number of a thread that is about to be joined. Waits until the thread has started, however long
/// that takes on a busy machine. Threads that libc created without us and that recorded nothing have none.
fn number_of(handle: usize) -> Option<u32> {
    match known_number(handle) {
        Some(number) => number,
        None => {
            WAITING.fetch_add(1, Ordering::SeqCst);
            let number = wait_for_number(handle);
            WAITING.fetch_sub(1, Ordering::Relaxed);
            number
        }
    }
}

fn wait_for_number(handle: usize) -> Option<u32> {
    loop {
        let started = STARTED.load(Ordering::SeqCst);
        if let Some(number) = known_number(handle) {
            return number;
        }
        sys::wait_while(STARTED.as_ptr(), started);
    }
}

/// The number of a thread, or `Some(None)` if it has none; `None` if it may still get one.
fn known_number(handle: usize) -> Option<Option<u32>> {
    let all_started = STARTING.load(Ordering::Acquire) == 0;
    // SAFETY: our caller is about to join the thread.
    let number = unsafe { tls::number_of(handle as libc::pthread_t) };
    (number.is_some() || all_started || !process::is_recording()).then_some(number)
}

fn join(handle: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let number = if thread::current().is_some() { number_of(handle) } else { None };
    let pc = caller_or(pc);
    let result = real();
    if let (0, Some(number)) = (result, number) {
        note(RecordKind::Join, 0, number as usize, pc);
    }
    result
}

/// Whether threads with these attributes are created detached. The attributes may be null.
fn is_detached(attributes: usize) -> bool {
    #[used]
    #[unsafe(link_section = "overtake_real")]
    static REAL: Real = Real::new("pthread_attr_getdetachstate\0");
    let mut state = 0;
    // SAFETY: the type is that of libc's function of this name.
    let detach_state = unsafe {
        core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn(usize, *mut i32) -> i32>(
            REAL.address(),
        )
    };
    // SAFETY: the program passes initialised attributes; the call writes the state.
    attributes != 0
        && unsafe { detach_state(attributes, &raw mut state) } == 0
        && state == libc::PTHREAD_CREATE_DETACHED
}

fn detach(handle: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let number = if thread::current().is_some() { number_of(handle) } else { None };
    let pc = caller_or(pc);
    let result = real();
    if let (0, Some(number)) = (result, number) {
        note(RecordKind::Detach, 0, number as usize, pc);
    }
    result
}

hook! {
    fn pthread_create(handle: usize, attributes: usize, routine: extern "C" fn(usize) -> usize, argument: usize; pc) -> i32 {
        create(routine, argument, is_detached(attributes), pc, |routine, argument| {
            real(handle, attributes, routine, argument)
        })
    }
    fn thrd_create(handle: usize, routine: extern "C" fn(usize) -> usize, argument: usize; pc) -> i32 {
        create(routine, argument, false, pc, |routine, argument| real(handle, routine, argument))
    }
    fn pthread_join(handle: usize, result: usize; pc) -> i32 { join(handle, pc, || real(handle, result)) }
    fn pthread_tryjoin_np(handle: usize, result: usize; pc) -> i32 { join(handle, pc, || real(handle, result)) }
    fn pthread_timedjoin_np(handle: usize, result: usize, time: usize; pc) -> i32 {
        join(handle, pc, || real(handle, result, time))
    }
    fn pthread_clockjoin_np(handle: usize, result: usize, clock: i32, time: usize; pc) -> i32 {
        join(handle, pc, || real(handle, result, clock, time))
    }
    fn pthread_detach(handle: usize; pc) -> i32 { detach(handle, pc, || real(handle)) }
    fn thrd_detach(handle: usize; pc) -> i32 { detach(handle, pc, || real(handle)) }
    fn thrd_join(handle: usize, result: usize; pc) -> i32 { join(handle, pc, || real(handle, result)) }
    fn pthread_setname_np(handle: usize, name: *const c_char; pc) -> i32 {
        let result = real(handle, name);
        if result == 0
            && let Some(thread) = thread::current()
            && let Some(number) = number_of(handle)
        {
            // SAFETY: libc accepted it as a zero-terminated text.
            thread.name_thread(number, unsafe { process::bytes(name) });
        }
        result
    }
}

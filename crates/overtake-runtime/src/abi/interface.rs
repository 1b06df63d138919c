//! The public interface of the sanitizer, for programs that describe their own synchronisation: `tsan_interface.h`.
//!
//! Between `pre_lock` and `post_lock` (and the like) a program runs the code of its own lock, which is not recorded.
//! Functions that ask about a report return nothing: reports are made later, in another process. A program's own
//! `__tsan_on_report` is called once if there were races, without a report, in a program that was started directly.
//! `__tsan_on_finalize` is called before the process ends; under `overtake run` it does not learn of races and cannot excuse them.

use core::ffi::{c_char, c_void};

use overtake_rawlog::{RecordKind, acquire_extra, lock_flags, misuse, release_extra};

use crate::libc_hooks::real::define;
use crate::process;
use crate::thread::{self, ThreadState};
use crate::tls;

/// Flags of the mutex functions.
mod flags {
    pub(super) const LINKER_INITIALISED: u32 = 1 << 0;
    pub(super) const READ_LOCK: u32 = 1 << 3;
    pub(super) const TRY_LOCK: u32 = 1 << 4;
    pub(super) const TRY_LOCK_FAILED: u32 = 1 << 5;
    pub(super) const RECURSIVE_LOCK: u32 = 1 << 6;
    pub(super) const NOT_STATIC: u32 = 1 << 8;
}

/// What a log says about how a lock is created or destroyed.
fn lifetime(flags: u32) -> u8 {
    let of = |flag: u32, bit: u8| if flags & flag == 0 { 0 } else { bit };
    of(flags::LINKER_INITIALISED, lock_flags::STATIC) | of(flags::NOT_STATIC, lock_flags::NOT_STATIC)
}

/// Switching to a fiber without [`NO_SYNC`] orders what the old fiber did before what the new one does.
const NO_SYNC: u32 = 1 << 0;

pub(super) fn note(kind: RecordKind, extra: u8, object: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.sync(kind, extra, object as u64, pc as u64);
    }
}

/// Reads a value at any address and records it, as instrumented code does.
fn loaded<T: Copy>(address: *const T, pc: usize) -> T {
    if let Some(thread) = thread::current() {
        thread.access_range::<false>(address as usize, size_of::<T>(), pc);
    }
    // SAFETY: our caller asks for this value.
    unsafe { address.read_unaligned() }
}

/// Writes a value at any address and records it, as instrumented code does.
fn stored<T: Copy>(address: *mut T, value: T, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.access_range::<true>(address as usize, size_of::<T>(), pc);
    }
    // SAFETY: our caller asks to write there.
    unsafe { address.write_unaligned(value) }
}

/// Changes how many times reads, writes and synchronisation of this thread are being ignored.
pub(super) fn ignore(reads: i32, writes: i32, sync: i32) {
    if let Some(thread) = thread::current() {
        thread.ignore(reads, writes, sync);
    }
}

/// From here on the program's accesses, or its synchronisation, are ignored, until it says otherwise.
pub(super) fn ignore_from(sync: bool, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.ignore_from(sync, pc as u64);
    }
}

pub(super) fn lock_taken(lock: usize, shared: bool, extra: u8, pc: usize) {
    note(if shared { RecordKind::AcquireShared } else { RecordKind::Acquire }, extra, lock, pc);
}

define! {
    fn __tsan_mutex_create(mutex: usize, flags: u32; pc) { note(RecordKind::Forget, lifetime(flags), mutex, pc); }
    fn __tsan_mutex_destroy(mutex: usize, flags: u32; pc) { note(RecordKind::Destroy, lifetime(flags), mutex, pc); }
    fn __tsan_mutex_pre_lock(mutex: usize, flags: u32; pc) { ignore(1, 1, 1); }
    fn __tsan_mutex_post_lock(mutex: usize, flags: u32, recursion: i32; pc) {
        ignore(-1, -1, -1);
        if flags & flags::TRY_LOCK_FAILED == 0 {
            let times = if flags & flags::RECURSIVE_LOCK == 0 { 1 } else { recursion.max(1) };
            for _ in 0..times {
                let extra = acquire_extra(flags & flags::TRY_LOCK != 0, false);
                lock_taken(mutex, flags & flags::READ_LOCK != 0, extra, pc);
            }
        }
    }
    fn __tsan_mutex_pre_unlock(mutex: usize, flags: u32; pc) -> i32 {
        note(RecordKind::ReleaseAny, release_extra(flags & flags::READ_LOCK != 0), mutex, pc);
        ignore(1, 1, 1);
        1
    }
    fn __tsan_mutex_post_unlock(mutex: usize, flags: u32; pc) { ignore(-1, -1, -1); }
    fn __tsan_mutex_pre_signal(object: usize, flags: u32; pc) { ignore(1, 1, 1); }
    fn __tsan_mutex_post_signal(object: usize, flags: u32; pc) { ignore(-1, -1, -1); }
    fn __tsan_mutex_pre_divert(object: usize, flags: u32; pc) { ignore(-1, -1, -1); }
    fn __tsan_mutex_post_divert(object: usize, flags: u32; pc) { ignore(1, 1, 1); }

    fn __tsan_acquire(object: usize; pc) { note(RecordKind::Wait, 0, object, pc); }
    fn __tsan_release(object: usize; pc) { note(RecordKind::Post, 0, object, pc); }

    fn __tsan_ignore_thread_begin(; pc) { ignore_from(false, pc); }
    fn __tsan_ignore_thread_end(; pc) { ignore(-1, -1, 0); }
    /// A thread must hold no lock here. Sealing knows which locks it holds.
    fn __tsan_check_no_mutexes_held(; pc) { note(RecordKind::Misuse, misuse::MUST_HOLD_NONE, 0, pc); }
    fn __tsan_flush_memory(; pc) {}
    fn __tsan_on_thread_idle(; pc) {}

    fn __tsan_external_register_tag(kind: usize; pc) -> usize { 1 }
    fn __tsan_external_register_header(tag: usize, header: usize; pc) {}
    fn __tsan_external_assign_tag(object: usize, tag: usize; pc) {}
    fn __tsan_external_read(object: usize, caller: usize, tag: usize; pc) {
        if let Some(thread) = thread::current() {
            thread.access_range::<false>(object, 1, caller);
        }
    }
    fn __tsan_external_write(object: usize, caller: usize, tag: usize; pc) {
        if let Some(thread) = thread::current() {
            thread.access_range::<true>(object, 1, caller);
        }
    }

    fn __tsan_get_current_fiber(; pc) -> *mut c_void {
        thread::current().map_or(core::ptr::null_mut(), ThreadState::as_fiber)
    }
    fn __tsan_create_fiber(flags: u32; pc) -> *mut c_void {
        let Some(creator) = thread::current() else { return core::ptr::null_mut() };
        let number = thread::next_number();
        creator.sync(RecordKind::Fork, 0, u64::from(number), pc as u64);
        creator.sync(RecordKind::Detach, 0, u64::from(number), pc as u64);
        thread::new_fiber(number, creator.number()).cast_mut().cast()
    }
    fn __tsan_destroy_fiber(fiber: *mut c_void; pc) {
        if !fiber.is_null() {
            // SAFETY: the program says that it will not use the fiber any more.
            unsafe { thread::end_state(fiber.cast_const().cast()) };
        }
    }
    fn __tsan_switch_to_fiber(fiber: *mut c_void, flags: u32; pc) {
        if fiber.is_null() {
            return;
        }
        if flags & NO_SYNC == 0 {
            note(RecordKind::Post, 0, fiber as usize, pc);
        }
        if let Some(left) = thread::current() {
            left.become_fiber();
        }
        tls::set_state(fiber.cast_const().cast());
        if flags & NO_SYNC == 0 {
            note(RecordKind::Wait, 0, fiber as usize, pc);
        }
    }
    fn __tsan_set_fiber_name(fiber: *mut c_void, name: *const c_char; pc) {
        // SAFETY: the program passes a fiber that it created, and a text.
        if let Some(fiber) = unsafe { fiber.cast_const().cast::<ThreadState>().as_ref() } {
            // SAFETY: as above.
            fiber.name_thread(fiber.number(), unsafe { process::bytes(name) });
        }
    }

    fn __tsan_get_current_report(; pc) -> usize { 0 }
    fn __tsan_get_report_data(; pc) -> i32 { 0 }
    fn __tsan_get_report_stack(; pc) -> i32 { 0 }
    fn __tsan_get_report_mop(; pc) -> i32 { 0 }
    fn __tsan_get_report_loc(; pc) -> i32 { 0 }
    fn __tsan_get_report_loc_object_type(; pc) -> i32 { 0 }
    fn __tsan_get_report_mutex(; pc) -> i32 { 0 }
    fn __tsan_get_report_thread(; pc) -> i32 { 0 }
    fn __tsan_get_report_unique_tid(; pc) -> i32 { 0 }
    fn __tsan_get_report_tag(; pc) -> i32 { 0 }
    fn __tsan_get_alloc_stack(; pc) -> i32 { 0 }
    fn __tsan_locate_address(; pc) -> usize { 0 }
    fn __sanitizer_unaligned_load16(address: *const u16; pc) -> u16 { loaded(address, pc) }
    fn __sanitizer_unaligned_load32(address: *const u32; pc) -> u32 { loaded(address, pc) }
    fn __sanitizer_unaligned_load64(address: *const u64; pc) -> u64 { loaded(address, pc) }
    fn __sanitizer_unaligned_store16(address: *mut u16, value: u16; pc) { stored(address, value, pc) }
    fn __sanitizer_unaligned_store32(address: *mut u32, value: u32; pc) { stored(address, value, pc) }
    fn __sanitizer_unaligned_store64(address: *mut u64, value: u64; pc) { stored(address, value, pc) }

    fn __sanitizer_set_report_path(path: usize; pc) {}
    fn __sanitizer_set_report_fd(file: usize; pc) {}
    fn __sanitizer_set_death_callback(callback: usize; pc) {}
    fn __sanitizer_sandbox_on_notify(arguments: usize; pc) {}
    fn __sanitizer_print_stack_trace(; pc) {}
}

/// The address of a function that the program may define; 0 if it does not define it.
macro_rules! program_function {
    ($symbol:literal) => {{
        let function: usize;
        // SAFETY: loads an address; null if no object of the program defines the symbol.
        unsafe {
            core::arch::asm!(
                concat!(".weak ", $symbol),
                concat!("mov {function}, qword ptr [rip + ", $symbol, "@GOTPCREL]"),
                function = out(reg) function,
                options(nostack, preserves_flags, readonly),
            );
        }
        function
    }};
}

/// The text that the program's own function at this address returns; `None` if there is no function.
fn program_text(function: usize) -> Option<&'static [u8]> {
    // SAFETY: a function that returns a text, or null.
    unsafe {
        let function: Option<unsafe extern "C" fn() -> *const c_char> = core::mem::transmute(function);
        function.map(|function| function()).filter(|text| !text.is_null()).map(|text| process::bytes(text))
    }
}

/// The options that the program sets for itself.
pub(crate) fn default_options() -> Option<&'static [u8]> {
    program_text(program_function!("__tsan_default_options"))
}

/// The suppressions that the program sets for itself.
pub(crate) fn default_suppressions() -> Option<&'static [u8]> {
    program_text(program_function!("__tsan_default_suppressions"))
}

/// Tells the program that a thread may block in the runtime from now on (or does not block any more), if it has functions for that.
pub(crate) fn may_block(begins: bool) {
    let function = match begins {
        true => program_function!("_ZN6__tsan32OnPotentiallyBlockingRegionBeginEv"),
        false => program_function!("_ZN6__tsan30OnPotentiallyBlockingRegionEndEv"),
    };
    call_program(function);
}

/// Tells the program that the runtime has started, if it has a function for that: before the constructors of its libraries.
pub(crate) fn tell_started() {
    call_program(match program_function!("_ZN6__tsan12OnInitializeEv") {
        0 => program_function!("__tsan_on_initialize"),
        function => function,
    });
}

/// Tells the program that it is about to fork, if it has a function for that: a test of ThreadSanitizer has.
pub(crate) fn tell_forking() {
    call_program(program_function!("__tsan_test_only_on_fork"));
}

/// Calls the program's own function at this address, if there is one.
fn call_program(function: usize) {
    // SAFETY: a function without arguments, or null.
    let function: Option<unsafe extern "C" fn()> = unsafe { core::mem::transmute(function) };
    if let Some(function) = function {
        // SAFETY: it expects to be called.
        unsafe { function() };
    }
}

/// Tells the program that its races were reported, and asks whether that is a failure.
pub(crate) fn is_failure(raced: bool) -> bool {
    let (on_report, on_finalize) =
        (program_function!("__tsan_on_report"), program_function!("__tsan_on_finalize"));
    // SAFETY: the program's own functions, if it has them, with the types of the public interface; they expect to be called.
    unsafe {
        let on_report: Option<unsafe extern "C" fn(*mut c_void)> = core::mem::transmute(on_report);
        let on_finalize: Option<unsafe extern "C" fn(i32) -> i32> = core::mem::transmute(on_finalize);
        if raced && let Some(on_report) = on_report {
            on_report(core::ptr::null_mut());
        }
        on_finalize.map_or(raced, |on_finalize| on_finalize(i32::from(raced)) != 0)
    }
}

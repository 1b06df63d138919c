//! The state of a thread, and the functions that hooks call on it. They pass everything on to the recorder, or to another back end
//! (`back_end`). How threads start, end and fork is in `life`.

mod handlers;
mod life;
mod spare;

use core::cell::Cell;
use core::ffi::c_void;
use core::num::NonZeroUsize;

use overtake_rawlog::{RecordKind, misuse};

use crate::back_end::{self, Access, Operation, Wait};
use crate::recorder::coalesce::LookUp;
use crate::recorder::{Counts, Kept, Muted, Recorder};
use crate::{program, tls};
pub(crate) use life::{
    NO_THREAD, abandon_after_fork, begin, end, end_state, go_on_after_fork, is_the_only_one, lost, new_fiber,
    next_number, stop_after_fork,
};

/// What the runtime knows of one thread. Only that thread, and signal handlers on it, use it. All zeros is valid.
#[repr(C)]
pub(crate) struct ThreadState {
    recorder: Recorder,
    number: Cell<u32>,
    /// The kernel's id of the thread; 0 for a fiber, which may run on any thread.
    kernel_id: Cell<u32>,
    /// The number for this thread in mutexes that it had last; different from those of other processes. 0 for a fiber.
    token: Cell<u64>,
    /// Depth of `AnnotateIgnore*Begin` and the like.
    ignore_reads: Cell<u32>,
    ignore_writes: Cell<u32>,
    ignore_sync: Cell<u32>,
    /// Where the program asked for it last.
    ignored_from: Cell<u64>,
    /// How many signal handlers run on this thread, one inside the other.
    handlers: Cell<u32>,
    /// What `pthread_once` is about to call for which control, see `libc_hooks::once`.
    pub(crate) once: Cell<(usize, usize)>,
    /// The caller of a function of the C++ library that is about to call one of ours; 0 if there is none.
    library_caller: Cell<u64>,
    /// The state that another back end keeps for the thread.
    room: Cell<*mut c_void>,
    /// Memory of the ended thread that had this state before, see `spare`.
    kept: Cell<Kept>,
}

// The hooks for accesses use a pointer to the one as a pointer to the other.
const _: () = assert!(core::mem::offset_of!(ThreadState, recorder) == 0);

/// Placeholders for the state of a thread that has none. They begin like a state, so that the hooks for accesses need no check: they find
/// nothing there and continue in code that checks.
pub(crate) static NO_STATE: [LookUp; 4] = [const { LookUp::none() }; 4];
/// A thread that is not set up yet. Every thread starts with this (`tls`).
const NOT_SET_UP: *const ThreadState = (&raw const NO_STATE[0]).cast();
/// A thread that is being set up: the runtime itself causes the hooks that are called now.
const SETTING_UP: *const ThreadState = (&raw const NO_STATE[1]).cast();
/// A thread that could not be set up.
const FAILED: *const ThreadState = (&raw const NO_STATE[3]).cast();
/// A thread that has ended.
const OVER: *const ThreadState = (&raw const NO_STATE[2]).cast();

/// Whether this is a state and not a placeholder. (It is null before the program is relocated.)
#[inline(always)]
fn is_state(state: *const ThreadState) -> bool {
    (state as usize).wrapping_sub(NOT_SET_UP as usize) >= size_of_val(&NO_STATE) && !state.is_null()
}

/// This thread's state, which is set up if there is none; `None` if the thread records nothing.
#[inline(always)]
pub(crate) fn current() -> Option<&'static ThreadState> {
    found(tls::state())
}

/// As [`current`], for hooks that already have the pointer to the state.
#[inline(always)]
pub(crate) fn found(state: *const ThreadState) -> Option<&'static ThreadState> {
    if is_state(state) {
        // SAFETY: set by `begin` on this thread, valid until `end` replaces it.
        Some(unsafe { &*state })
    } else {
        life::set_up(state)
    }
}

/// This thread's state if it records already: for signal handlers, which must not set anything up.
pub(crate) fn recording() -> Option<&'static ThreadState> {
    let state = tls::state();
    // SAFETY: as in `found`.
    is_state(state).then(|| unsafe { &*state })
}

/// As [`current`], for what libc itself does after the end of a thread: this does not count as a lost event.
#[inline(always)]
pub(crate) fn current_unless_over() -> Option<&'static ThreadState> {
    let state = tls::state();
    if state == OVER { None } else { found(state) }
}

/// Facts about the thread.
impl ThreadState {
    pub(crate) fn number(&self) -> u32 {
        self.number.get()
    }

    /// The recorder of the thread. Under another back end it is muted.
    pub(crate) fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// The state that another back end keeps for the thread; null at first.
    pub(crate) fn room(&self) -> &Cell<*mut c_void> {
        &self.room
    }

    /// From now on, code of this state may run on any thread.
    pub(crate) fn become_fiber(&self) {
        self.kernel_id.set(0);
        self.token.set(0);
    }

    /// The number for this thread in mutexes that it had last; 0 if it has none.
    #[inline]
    pub(crate) fn token(&self) -> u64 {
        self.token.get()
    }

    /// Whether this thread, and not a fiber on it, holds a mutex whose owner has this kernel id.
    #[inline]
    pub(crate) fn holds(&self, owner: u32) -> bool {
        owner != 0 && owner == self.kernel_id.get()
    }

    /// A function of the C++ library that is about to call one of ours was called from `pc`. Such functions call each other; the first
    /// call counts.
    pub(crate) fn library_called(&self, pc: usize) {
        if self.library_caller.get() == 0 {
            self.library_caller.set(pc as u64);
        }
    }

    /// If the C++ library called us, the place that called the library; else `pc` itself.
    pub(crate) fn caller_or(&self, pc: u64) -> u64 {
        match self.library_caller.take() {
            0 => pc,
            caller => caller,
        }
    }

    /// A call from `pc` is about to be handled. If that is in a library, the program called the library somewhere, and the call stack has
    /// this place until [`leave_library`](Self::leave_library), which takes the result. A library without instrumentation does not say so itself.
    #[inline(always)]
    pub(crate) fn enter_library(&self, pc: usize) -> Option<NonZeroUsize> {
        if program::holds(pc) { None } else { self.recorder.enter_library() }
    }

    /// See [`enter_library`](Self::enter_library).
    #[inline(always)]
    pub(crate) fn leave_library(&self, entered: Option<NonZeroUsize>) {
        if let Some(stack_pointer) = entered {
            self.recorder.leave_library(stack_pointer);
        }
    }

    /// Changes how many times reads, writes and synchronisation are being ignored.
    pub(crate) fn ignore(&self, reads: i32, writes: i32, sync: i32) {
        for (depth, change) in
            [(&self.ignore_reads, reads), (&self.ignore_writes, writes), (&self.ignore_sync, sync)]
        {
            depth.set(depth.get().saturating_add_signed(change));
        }
        if self.ignore_reads.get() | self.ignore_writes.get() | self.ignore_sync.get() == 0 {
            self.ignored_from.set(0);
        }
        self.tell_recorder();
    }

    /// The program asks, at `pc`, for its accesses or its synchronisation to be ignored.
    pub(crate) fn ignore_from(&self, sync: bool, pc: u64) {
        self.ignored_from.set(pc);
        self.ignore(i32::from(!sync), i32::from(!sync), i32::from(sync));
    }

    /// The thread, or the process, ends: nothing is ignored any more. If the program asked for it and never ended it, that is noted.
    pub(crate) fn end_ignoring(&self) {
        let is_ignored =
            [&self.ignore_reads, &self.ignore_writes, &self.ignore_sync].map(|depth| depth.replace(0));
        self.tell_recorder();
        if is_ignored != [0; 3] && self.ignored_from.get() != 0 {
            self.sync(RecordKind::Misuse, misuse::STILL_IGNORED, 0, self.ignored_from.get());
        }
    }

    /// Mutes the recorder as far as the program asked for it, and completely under another back end.
    fn tell_recorder(&self) {
        self.recorder.mute(match back_end::other() {
            Some(_) => Muted::ALL,
            None => Muted {
                reads: self.ignore_reads.get() > 0,
                writes: self.ignore_writes.get() > 0,
                sync: self.ignore_sync.get() > 0,
            },
        });
    }

    /// Whether synchronisation is ignored, or goes to a back end other than the recorder.
    #[inline]
    pub(crate) fn is_ignoring_sync(&self) -> bool {
        self.recorder.is_sync_muted()
    }

    /// As the pointer by which the public interface refers to a fiber.
    pub(crate) fn as_fiber(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }
}

/// What hooks call. Each call goes to the recorder, unless it is muted.
impl ThreadState {
    /// A plain access of `SIZE` bytes, at most 16, that crosses from one cache line to the next.
    #[inline(always)]
    pub(crate) fn access_across<const WRITE: bool, const SIZE: usize>(&self, address: usize, pc: usize) {
        if self.recorder.is_muted(WRITE) {
            return self.access_elsewhere::<WRITE>(address, SIZE, pc);
        }
        self.recorder.access_across::<WRITE, SIZE>(address, pc);
    }

    /// A plain access of `SIZE` bytes within one cache line that continues no run.
    #[inline(always)]
    pub(crate) fn record_new<const WRITE: bool, const SIZE: usize>(&self, address: usize, pc: usize) {
        if self.recorder.is_muted(WRITE) {
            return self.access_elsewhere::<WRITE>(address, SIZE, pc);
        }
        self.recorder.record_new::<WRITE, SIZE>(address, pc);
    }

    /// A plain access of any size and alignment.
    #[inline]
    pub(crate) fn access_range<const WRITE: bool>(&self, address: usize, length: usize, pc: usize) {
        if self.recorder.is_muted(WRITE) {
            return self.access_elsewhere::<WRITE>(address, length, pc);
        }
        self.recorder.access_range::<WRITE>(address, length, pc);
    }

    /// A synchronisation operation on `value`, happening now.
    #[inline]
    pub(crate) fn sync(&self, kind: RecordKind, extra: u8, value: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation { kind, extra, object: value, pc, more: 0 });
        }
        self.recorder.sync(kind, extra, value, pc);
    }

    /// An atomic operation, happening now; `before` counts the earlier ones on locations like this one.
    #[inline]
    pub(crate) fn atomic(&self, kind: RecordKind, extra: u8, address: u64, pc: u64, before: Counts) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation { kind, extra, object: address, pc, more: 0 });
        }
        self.recorder.atomic(kind, extra, address, pc, before);
    }

    /// A synchronisation operation with a further number.
    pub(crate) fn sync_with(&self, kind: RecordKind, value: u64, pc: u64, more: u64) {
        self.sync_more(kind, 0, value, pc, more);
    }

    /// As [`sync_with`](Self::sync_with), with an extra byte.
    pub(crate) fn sync_more(&self, kind: RecordKind, extra: u8, value: u64, pc: u64, more: u64) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation { kind, extra, object: value, pc, more });
        }
        self.recorder.sync_with(kind, extra, value, pc, more);
    }

    /// Does what can be done before a mutex is acquired, so that it is held for a shorter time. Returns how the thread waits for it.
    #[inline]
    pub(crate) fn about_to_acquire(&self, lock: u64, pc: u64) -> Wait {
        if self.recorder.is_sync_muted() {
            return self.announce_elsewhere(Operation::of_lock(RecordKind::Acquire, lock, pc));
        }
        self.recorder.about_to_acquire();
        Wait::AsUsual
    }

    /// The thread is about to wait for a lock, or has given up; `extra` is of [`overtake_rawlog::request`].
    #[cold]
    #[inline(never)]
    pub(crate) fn requests(&self, lock: u64, extra: u8, pc: u64) {
        if !self.recorder.is_sync_muted() {
            self.recorder.sync(RecordKind::Request, extra, lock, pc);
        }
    }

    /// Whether the thread continued without this lock.
    #[inline]
    pub(crate) fn goes_without(&self, lock: u64) -> bool {
        self.recorder.is_sync_muted() && back_end::other().is_some_and(|other| other.goes_without(self, lock))
    }

    /// The thread is about to wait for a lock or a token in a way for which the recorder does nothing beforehand. How it waits.
    #[inline]
    pub(crate) fn about_to_wait(&self, kind: RecordKind, object: u64, pc: u64) -> Wait {
        match self.recorder.is_sync_muted() {
            true => self.announce_elsewhere(Operation::of_lock(kind, object, pc)),
            false => Wait::AsUsual,
        }
    }

    /// Announces an atomic access, for which [`sync`](Self::sync) will be called with this kind.
    #[inline]
    pub(crate) fn about_to_access(&self, kind: RecordKind, extra: u8, address: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            let _ = self.announce_elsewhere(Operation { kind, extra, object: address, pc, more: 0 }); // no lock
        }
    }

    /// A lock was acquired by a call that may wait.
    #[inline]
    pub(crate) fn acquired(&self, lock: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation::of_lock(RecordKind::Acquire, lock, pc));
        }
        self.recorder.acquired(lock, pc);
    }

    /// A lock was acquired again, and no other thread had it in between.
    #[inline]
    pub(crate) fn acquired_again(&self, lock: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation::of_lock(RecordKind::Acquire, lock, pc));
        }
        self.recorder.acquired_again(lock, pc);
    }

    /// A lock that this thread holds according to [`holds`](Self::holds) is about to be released.
    #[inline]
    pub(crate) fn released(&self, lock: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation::of_lock(RecordKind::Release, lock, pc));
        }
        self.recorder.released(lock, pc);
    }

    /// Whether the program asked for its writes to be ignored.
    fn is_ignoring_writes(&self) -> bool {
        self.ignore_writes.get() > 0
    }

    /// A block of memory was allocated, of which `usable` bytes may be used. It is recorded even while synchronisation is ignored. While
    /// writes are ignored, or if the loader allocates it, it does not count as an access.
    pub(crate) fn allocated(&self, address: u64, (size, usable): (u64, u64), by_loader: bool, pc: u64) {
        let pc = self.caller_or(pc);
        let library = self.enter_library(pc as usize);
        match back_end::other() {
            Some(other) => other.operation(
                self,
                Operation { kind: RecordKind::Alloc, extra: 0, object: address, pc, more: size },
            ),
            None => {
                let is_access = !by_loader && !self.is_ignoring_writes();
                self.recorder.allocated(address, (size, usable), is_access, pc);
            }
        }
        self.leave_library(library);
    }

    /// Memory was mapped. While writes are ignored, that does not count as an access.
    pub(crate) fn mapped(&self, address: u64, length: u64, pc: u64) {
        self.sync_more(RecordKind::Map, u8::from(self.is_ignoring_writes()), address, pc, length);
    }

    /// A block of memory is about to be freed. It is recorded even while synchronisation is ignored. While writes are ignored, or if the
    /// loader frees it, it does not count as an access.
    pub(crate) fn freed(&self, address: u64, size: u64, by_loader: bool, pc: u64) {
        let pc = self.caller_or(pc);
        let is_access = !by_loader && !self.is_ignoring_writes();
        let extra = u8::from(!is_access);
        let library = self.enter_library(pc as usize);
        match back_end::other() {
            Some(other) => other.operation(
                self,
                Operation { kind: RecordKind::Free, extra, object: address, pc, more: size },
            ),
            None => self.recorder.freed(address, size, extra, pc),
        }
        self.leave_library(library);
    }

    /// The thread with this number has a name. Back ends other than the recorder do not get it.
    pub(crate) fn name_thread(&self, number: u32, name: &[u8]) {
        if back_end::other().is_none() {
            self.recorder.name_thread(number, name);
        }
    }

    #[inline(always)]
    pub(crate) fn enter_function(&self, call: usize, stack_pointer: usize) {
        self.recorder.enter_function(call, stack_pointer);
    }

    #[inline(always)]
    pub(crate) fn leave_function(&self, stack_pointer: usize) {
        self.recorder.leave_function(stack_pointer);
    }

    /// An access that does not go to the recorder.
    #[cold]
    #[inline(never)]
    fn access_elsewhere<const WRITE: bool>(&self, address: usize, length: usize, pc: usize) {
        let ignored = if WRITE { &self.ignore_writes } else { &self.ignore_reads };
        if let Some(other) = back_end::other()
            && ignored.get() == 0
            && length > 0
        {
            other.access(self, Access { address, length, is_write: WRITE, pc });
        }
    }

    /// The announcement of an operation that does not go to the recorder.
    #[cold]
    #[inline(never)]
    fn announce_elsewhere(&self, operation: Operation) -> Wait {
        match back_end::other() {
            Some(other) if self.ignore_sync.get() == 0 => other.before(self, operation),
            _ => Wait::AsUsual,
        }
    }

    /// An operation that does not go to the recorder.
    #[cold]
    #[inline(never)]
    fn sync_elsewhere(&self, operation: Operation) {
        if let Some(other) = back_end::other()
            && self.ignore_sync.get() == 0
        {
            other.operation(self, operation);
        }
    }
}

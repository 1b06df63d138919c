//! The state of a thread, and what hooks tell it. What becomes of that is the recorder's business, or that of another back end
//! (`back_end`). How threads start, end and fork is in `life`.

mod handlers;
mod life;

use core::cell::Cell;
use core::ffi::c_void;

use overtake_rawlog::RecordKind;

use crate::back_end::{self, Access, Operation, Wait};
use crate::recorder::coalesce::LookUp;
use crate::recorder::{Muted, Recorder};
use crate::tls;
pub(crate) use life::{
    NO_THREAD, abandon_after_fork, begin, end, end_state, go_on_after_fork, is_the_only_one, lost, new_fiber,
    next_number, stop_after_fork,
};

/// What the runtime knows of one thread. Only that thread, and signal handlers on it, use it. All zeros is valid.
#[repr(C)]
pub(crate) struct ThreadState {
    recorder: Recorder,
    number: Cell<u32>,
    /// The kernel's number of the thread; 0 if there are several of these states to one thread.
    kernel_id: Cell<u32>,
    /// Stands for this thread in mutexes that it had last; differs from those of other processes. 0 as above.
    token: Cell<u64>,
    /// Depth of `AnnotateIgnore*Begin` and the like.
    ignore_reads: Cell<u32>,
    ignore_writes: Cell<u32>,
    ignore_sync: Cell<u32>,
    /// Signal handlers that run on this thread, one inside the other.
    handlers: Cell<u32>,
    /// What `pthread_once` is about to call for which control, see `libc_hooks::once`.
    pub(crate) once: Cell<(usize, usize)>,
    /// Who called a function of the C++ library that is about to call one of ours; 0 if nobody did.
    library_caller: Cell<u64>,
    /// What another back end than the recorder keeps for the thread.
    room: Cell<*mut c_void>,
}

// The hooks for accesses take the one for the other.
const _: () = assert!(core::mem::offset_of!(ThreadState, recorder) == 0);

/// What stands for the state of a thread that has none. It begins like one, so that the hooks for accesses need not ask: they find
/// nothing there and go on to code that does.
pub(crate) static NO_STATE: [LookUp; 4] = [const { LookUp::none() }; 4];
/// A thread that is not set up yet. This is what every thread starts with (`tls`).
const NOT_SET_UP: *const ThreadState = (&raw const NO_STATE[0]).cast();
/// A thread that is being set up: what its hooks see is our own doing.
const SETTING_UP: *const ThreadState = (&raw const NO_STATE[1]).cast();
/// A thread that could not be set up.
const FAILED: *const ThreadState = (&raw const NO_STATE[3]).cast();
/// A thread that is over.
const OVER: *const ThreadState = (&raw const NO_STATE[2]).cast();

/// Whether there is a state, and not something that stands for one. (Null is what there is before the program is relocated.)
#[inline(always)]
fn is_state(state: *const ThreadState) -> bool {
    (state as usize).wrapping_sub(NOT_SET_UP as usize) >= size_of_val(&NO_STATE) && !state.is_null()
}

/// This thread's state, set up if need be; `None` if the thread records nothing.
#[inline(always)]
pub(crate) fn current() -> Option<&'static ThreadState> {
    found(tls::state())
}

/// As [`current`], for hooks that have asked already where the state is.
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

/// As [`current`], for what libc does on its own when a thread is over: that is no event that gets lost.
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

    /// What another back end keeps for the thread; null at first.
    pub(crate) fn room(&self) -> &Cell<*mut c_void> {
        &self.room
    }

    /// From now on, code of this state may run on any thread.
    pub(crate) fn become_fiber(&self) {
        self.kernel_id.set(0);
        self.token.set(0);
    }

    /// What stands for this thread in mutexes that it had last; 0 if nothing does.
    #[inline]
    pub(crate) fn token(&self) -> u64 {
        self.token.get()
    }

    /// Whether this thread, and not another one or a fiber, took the mutex that says to be held by the thread with this number.
    #[inline]
    pub(crate) fn holds(&self, owner: u32) -> bool {
        owner != 0 && owner == self.kernel_id.get()
    }

    /// A function of the C++ library that is about to call one of ours was called from `pc`. Such functions call each other: the first
    /// call counts.
    pub(crate) fn library_called(&self, pc: usize) {
        if self.library_caller.get() == 0 {
            self.library_caller.set(pc as u64);
        }
    }

    /// Who called the C++ library that called from `pc`; else `pc` itself.
    pub(crate) fn caller_or(&self, pc: u64) -> u64 {
        match self.library_caller.take() {
            0 => pc,
            caller => caller,
        }
    }

    /// Counts up or down how often reads, writes and synchronisation are to be ignored.
    pub(crate) fn ignore(&self, reads: i32, writes: i32, sync: i32) {
        for (depth, change) in
            [(&self.ignore_reads, reads), (&self.ignore_writes, writes), (&self.ignore_sync, sync)]
        {
            depth.set(depth.get().saturating_add_signed(change));
        }
        self.tell_recorder();
    }

    /// The recorder is muted as far as the program asked for it, and altogether under another back end.
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

    /// Whether what the hooks tell of synchronisation is ignored, or goes to another back end than the recorder.
    #[inline]
    pub(crate) fn is_ignoring_sync(&self) -> bool {
        self.recorder.is_sync_muted()
    }

    /// As what the public interface hands out and takes back.
    pub(crate) fn as_fiber(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }
}

/// What hooks tell: each goes to the recorder unless that is muted.
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

    /// An atomic load, happening now, after so many stores that might have changed what it sees.
    #[inline]
    pub(crate) fn atomic_load(&self, extra: u8, address: u64, pc: u64, stores: u64) {
        let kind = RecordKind::AtomicLoad;
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation { kind, extra, object: address, pc, more: 0 });
        }
        self.recorder.atomic_load(extra, address, pc, stores);
    }

    /// A synchronisation operation with one more number.
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

    /// What can be done before a mutex is taken, so that it is held for a shorter time. How the thread waits for it.
    #[inline]
    pub(crate) fn about_to_acquire(&self, lock: u64, pc: u64) -> Wait {
        if self.recorder.is_sync_muted() {
            return self.announce_elsewhere(Operation::of_lock(RecordKind::Acquire, lock, pc));
        }
        self.recorder.about_to_acquire();
        Wait::AsUsual
    }

    /// Whether the thread went on without this mutex.
    #[inline]
    pub(crate) fn goes_without(&self, mutex: u64) -> bool {
        self.recorder.is_sync_muted()
            && back_end::other().is_some_and(|other| other.goes_without(self, mutex))
    }

    /// The thread is about to wait for a lock or a token in a way for which the recorder does nothing beforehand.
    #[inline]
    pub(crate) fn about_to_wait(&self, kind: RecordKind, object: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            let _ = self.announce_elsewhere(Operation::of_lock(kind, object, pc)); // only mutexes can be gone without
        }
    }

    /// An atomic access of a kind that [`sync`](Self::sync) will be called with follows.
    #[inline]
    pub(crate) fn about_to_access(&self, kind: RecordKind, extra: u8, address: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            let _ = self.announce_elsewhere(Operation { kind, extra, object: address, pc, more: 0 }); // no lock
        }
    }

    /// A lock was taken after waiting for it.
    #[inline]
    pub(crate) fn acquired(&self, lock: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation::of_lock(RecordKind::Acquire, lock, pc));
        }
        self.recorder.acquired(lock, pc);
    }

    /// A lock was taken that no other thread took since this one had it.
    #[inline]
    pub(crate) fn acquired_again(&self, lock: u64, pc: u64) {
        if self.recorder.is_sync_muted() {
            return self.sync_elsewhere(Operation::of_lock(RecordKind::Acquire, lock, pc));
        }
        self.recorder.acquired_again(lock, pc);
    }

    /// A lock that this thread holds, as [`holds`](Self::holds) says, is about to be given back.
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

    /// A block of memory was allocated, of which `usable` bytes may be used. Also while synchronisation is ignored. That is no
    /// access while writes are ignored.
    pub(crate) fn allocated(&self, address: u64, size: u64, usable: u64, pc: u64) {
        let pc = self.caller_or(pc);
        match back_end::other() {
            Some(other) => other.operation(
                self,
                Operation { kind: RecordKind::Alloc, extra: 0, object: address, pc, more: size },
            ),
            None => self.recorder.allocated(address, (size, usable), !self.is_ignoring_writes(), pc),
        }
    }

    /// A block of memory is about to be freed. Also while synchronisation is ignored. That is no access while writes are ignored, or
    /// if it is done `by_loader`.
    pub(crate) fn freed(&self, address: u64, size: u64, by_loader: bool, pc: u64) {
        let pc = self.caller_or(pc);
        let is_access = !by_loader && !self.is_ignoring_writes();
        let extra = u8::from(!is_access);
        match back_end::other() {
            Some(other) => other.operation(
                self,
                Operation { kind: RecordKind::Free, extra, object: address, pc, more: size },
            ),
            None => self.recorder.freed(address, size, extra, pc),
        }
    }

    /// The thread with this number has a name. Other back ends than the recorder do not learn it.
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

    /// An access that the recorder does not take.
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

    /// An operation that follows and that the recorder does not take.
    #[cold]
    #[inline(never)]
    fn announce_elsewhere(&self, operation: Operation) -> Wait {
        match back_end::other() {
            Some(other) if self.ignore_sync.get() == 0 => other.before(self, operation),
            _ => Wait::AsUsual,
        }
    }

    /// An operation that the recorder does not take.
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

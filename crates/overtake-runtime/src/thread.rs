//! The state of a recorded thread, and its records. Those of plain accesses are in `accesses`.

mod accesses;

use core::cell::Cell;
use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{
    BRIEF_ACQUIRE, BRIEF_ACQUIRE_AGAIN, BRIEF_RELEASE, RecordKind, THREAD_MAGIC, ThreadHeader, brief_head,
    head,
};

use crate::buffer::Buffer;
use crate::coalesce::{Coalescer, LookUp};
use crate::libc_hooks;
use crate::process;
use crate::runs::Runs;
use crate::stack::CallStack;
use crate::stamp;
use crate::sys::{self, NoSignals};
use crate::tls;

/// Number of a thread whose creator is unknown.
pub(crate) const NO_THREAD: u32 = u32::MAX;

static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// Events of threads that are over or could not be set up.
static LOST: AtomicU64 = AtomicU64::new(0);

/// Everything recording needs to know of one thread. Only that thread, and signal handlers on it, use it. All zeros is valid.
#[repr(C)]
pub(crate) struct ThreadState {
    coalescer: Coalescer,
    runs: Runs,
    stack: CallStack,
    buffer: Buffer,
    last_stamp: Cell<u64>,
    number: Cell<u32>,
    /// The kernel's number of the thread; 0 if there are several of these states to one thread.
    kernel_id: Cell<u32>,
    /// Locks taken since the last stamp.
    unstamped: Cell<u32>,
    /// Stands for this thread in mutexes that it had last; differs from those of other processes. 0 as above.
    token: Cell<u64>,
    /// Depth of `AnnotateIgnore*Begin` and the like.
    ignore_reads: Cell<u32>,
    ignore_writes: Cell<u32>,
    ignore_sync: Cell<u32>,
    /// What `pthread_once` is about to call for which control, see `libc_hooks::once`.
    pub(crate) once: Cell<(usize, usize)>,
    /// Who called a function of the C++ library that is about to call one of ours; 0 if nobody did.
    library_caller: Cell<u64>,
}

/// Where the hooks for accesses find what they need, see `abi::access`.
pub(crate) mod offsets {
    use super::ThreadState;
    use core::mem::offset_of;

    pub(crate) const PLACES: usize = offset_of!(ThreadState, runs) + crate::runs::offsets::TABLE;
    pub(crate) const FLOOR: usize = offset_of!(ThreadState, runs) + crate::runs::offsets::FLOOR;
    pub(crate) const CURSOR: usize = offset_of!(ThreadState, buffer) + crate::buffer::CURSOR;
    pub(crate) const END: usize = offset_of!(ThreadState, buffer) + crate::buffer::END;
    pub(crate) const TAG: usize = offset_of!(ThreadState, runs) + crate::runs::offsets::TAG;
    pub(crate) const SINCE: usize = offset_of!(ThreadState, stack) + crate::stack::SINCE;
}

// The hooks for accesses count on it.
const _: () = assert!(core::mem::offset_of!(ThreadState, coalescer) == 0);

/// What stands for the state of a thread that has none. It begins like one, so that the hooks for accesses need not ask: they find
/// nothing there and go on to code that does.
pub(crate) static NO_STATE: [LookUp; 3] = [const { LookUp::none() }; 3];
/// A thread that is not set up yet. This is what every thread starts with (`tls`).
const NOT_SET_UP: *const ThreadState = (&raw const NO_STATE[0]).cast();
/// A thread that is being set up: what its hooks see is our own doing.
const SETTING_UP: *const ThreadState = (&raw const NO_STATE[1]).cast();
/// A thread that is over.
const OVER: *const ThreadState = (&raw const NO_STATE[2]).cast();

/// Whether there is a state, and not something that stands for one. (Null is what there is before the program is relocated.)
#[inline(always)]
fn is_state(state: *const ThreadState) -> bool {
    (state as usize).wrapping_sub(NOT_SET_UP as usize) >= size_of_val(&NO_STATE) && !state.is_null()
}

/// The next free thread number.
pub(crate) fn next_number() -> u32 {
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// Number of events that were not recorded because their thread was over or could not be set up.
pub(crate) fn lost() -> u64 {
    LOST.load(Ordering::Relaxed)
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
        set_up(state)
    }
}

/// This thread's state if it records already: for signal handlers, which must not set anything up.
pub(crate) fn recording() -> Option<&'static ThreadState> {
    let state = tls::state();
    // SAFETY: as in `current`.
    is_state(state).then(|| unsafe { &*state })
}

#[cold]
#[inline(never)]
fn set_up(state: *const ThreadState) -> Option<&'static ThreadState> {
    if state == SETTING_UP || !process::is_recording() {
        return None;
    }
    if state == OVER {
        LOST.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    let _quiet = NoSignals::new();
    if tls::state() == state {
        begin(next_number(), NO_THREAD, 0); // unless a signal handler has
    }
    recording()
}

/// Starts recording this thread under `number`.
pub(crate) fn begin(number: u32, parent: u32, start: u64) {
    let _quiet = NoSignals::new();
    tls::set_state(SETTING_UP);
    tls::set_number(number);
    let stack = process::current_stack();
    let state = new_state(number, parent, stack);
    libc_hooks::threads::end_with_thread();
    tls::set_state(if state.is_null() { OVER } else { state });
    if let Some(thread) = current() {
        thread.sync(RecordKind::ThreadStart, 0, u64::from(number), start);
    }
}

/// A state with a file of its own; null if there is no memory. Signals are blocked.
fn new_state(number: u32, parent: u32, stack: (u64, u64)) -> *const ThreadState {
    let Ok(room) = sys::map_private(size_of::<ThreadState>()) else { return core::ptr::null() };
    let state: *const ThreadState = room.cast_const().cast();
    // SAFETY: fresh zeroed memory of the right size, for which zeros are valid; mappings are page-aligned.
    let thread = unsafe { &*state };
    thread.number.set(number);
    if !thread.stack.open(stack) {
        // SAFETY: nobody knows of it yet.
        unsafe { sys::unmap(room, size_of::<ThreadState>()) };
        return core::ptr::null();
    }
    thread.coalescer.open(process::is_exact());
    thread.runs.suspend(); // until there is a log
    thread.open_log(parent, stack);
    state
}

/// A fiber: a thread that runs where it is switched to. Null if there is no memory.
pub(crate) fn new_fiber(number: u32, parent: u32) -> *const ThreadState {
    let _quiet = NoSignals::new();
    let fiber = new_state(number, parent, (0, 0));
    // SAFETY: fresh, known only here.
    if let Some(fiber) = unsafe { fiber.as_ref() } {
        fiber.become_fiber();
        fiber.sync(RecordKind::ThreadStart, 2, u64::from(number), 0);
    }
    fiber
}

/// Ends the recording of this thread.
pub(crate) fn end() {
    let _quiet = NoSignals::new();
    let state = tls::state();
    tls::set_state(OVER);
    if is_state(state) {
        // SAFETY: as in `current`; the thread-local pointer was the only one.
        unsafe { end_state(state) };
    }
}

/// # Safety
/// A state that nobody uses any more.
pub(crate) unsafe fn end_state(state: *const ThreadState) {
    // SAFETY: the caller's promise.
    let thread = unsafe { &*state };
    thread.ignore_sync.set(0);
    thread.sync(RecordKind::ThreadEnd, 0, u64::from(thread.number()), 0);
    thread.note_coalesced();
    if let Some(header) = thread.buffer.header() {
        header.ended = 1;
    }
    thread.buffer.close();
    thread.stack.close();
    thread.coalescer.close();
    // SAFETY: the caller's promise.
    unsafe { sys::unmap(state.cast_mut().cast(), size_of::<ThreadState>()) };
}

/// In a child process after `fork`, before it has a log: the files so far are the parent's.
pub(crate) fn abandon_after_fork() {
    NEXT_NUMBER.store(0, Ordering::Relaxed);
    LOST.store(0, Ordering::Relaxed);
    crate::buffer::restart_after_fork();
    libc_hooks::threads::restart_after_fork();
    let state = tls::state();
    if is_state(state) {
        // SAFETY: as in `current`.
        unsafe { &*state }.buffer.abandon();
    }
}

/// In a child process after `fork`, once it has a log: this thread goes on as thread 0, with the call stack it has.
pub(crate) fn go_on_after_fork() {
    let number = next_number();
    let state = tls::state();
    tls::set_number(number);
    if is_state(state) {
        // SAFETY: as in `current`.
        let thread = unsafe { &*state };
        thread.number.set(number);
        thread.last_stamp.set(0);
        thread.coalescer.next_region();
        thread.open_log(NO_THREAD, thread.stack.own());
        thread.sync(RecordKind::ThreadStart, 1, u64::from(number), 0);
    }
}

/// In a child process after `fork` that has no log.
pub(crate) fn stop_after_fork() {
    tls::set_state(OVER);
}

impl ThreadState {
    pub(crate) fn number(&self) -> u32 {
        self.number.get()
    }

    /// From now on, code of this state may run on any thread.
    pub(crate) fn become_fiber(&self) {
        self.kernel_id.set(0);
        self.token.set(0);
    }

    fn open_log(&self, parent: u32, (stack_low, stack_high): (u64, u64)) {
        self.kernel_id.set(sys::kernel_thread_id());
        self.token.set((u64::from(sys::process_id()) << 32) | (u64::from(self.number()) + 1));
        self.buffer.open(&ThreadHeader {
            magic: THREAD_MAGIC,
            number: self.number(),
            parent,
            tid: self.kernel_id.get(),
            ended: 0,
            stack_low,
            stack_high,
            thread_pointer: tls::thread_pointer() as u64,
            lost_bytes: 0,
            first_chunk: overtake_rawlog::CHUNKS_AT,
            chunks_end: overtake_rawlog::CHUNKS_AT,
            dropped_bytes: 0,
            closing_writes: 0,
            coalesced: 0,
        });
        self.runs.next_tail();
        self.start_chunk();
        self.end_runs();
    }

    /// The first word of a brief record. The log must know what the place of the program counter stands for.
    #[inline(always)]
    fn brief(&self, code: u8, pc: u64, address: u64) -> u64 {
        brief_head(code, self.runs.number(pc), address)
    }

    /// Tells the log what the place of a program counter stands for.
    #[cold]
    #[inline(never)]
    fn name_place(&self, pc: u64) {
        loop {
            if !self.buffer.has_room() {
                self.new_chunk();
            }
            let taken = self.runs.take(pc);
            let cursor = self.buffer.place();
            let record = [head(RecordKind::Place, self.runs.number(pc), pc)];
            if taken.is_empty() && self.buffer.write_at(cursor, record) {
                return taken.name();
            }
        }
    }

    /// Accesses from here on must not stand before records up to here.
    #[inline(always)]
    fn end_runs(&self) {
        if self.runs_are_allowed() {
            self.runs.end_before(self.buffer.place());
        }
    }

    fn runs_are_allowed(&self) -> bool {
        self.coalescer.is_active() && self.ignore_reads.get() | self.ignore_writes.get() == 0
    }

    /// A signal handler is about to run: what it does, and what the interrupted code does after it, is behind all so far.
    pub(crate) fn interrupted(&self) {
        self.close_region();
        self.coalescer.next_region();
        self.end_runs();
    }

    /// A synchronisation operation on `value`, stamped now.
    #[inline]
    pub(crate) fn sync(&self, kind: RecordKind, extra: u8, value: u64, pc: u64) {
        debug_assert_eq!(kind.words(), 3);
        if self.ignore_sync.get() == 0 {
            self.close_region();
            self.write_stamped(comes_before(kind), |stamp| [head(kind, extra, value), pc, stamp]);
            self.coalescer.next_region();
            self.end_runs();
        }
    }

    /// What can be done before a lock is taken, so that it is held for a shorter time.
    #[inline]
    pub(crate) fn about_to_acquire(&self) {
        self.close_region();
        if !self.buffer.has_much_room() {
            self.new_chunk_early();
        }
    }

    /// A lock was taken after waiting for it.
    #[inline]
    pub(crate) fn acquired(&self, lock: u64, pc: u64) {
        self.sync_briefly(
            |place| {
                let stamp = stamp::now();
                let written = self.buffer.write_at(place, [self.brief(BRIEF_ACQUIRE, pc, lock), stamp]);
                if written {
                    self.last_stamp.set(stamp.max(self.last_stamp.get()));
                    self.unstamped.set(0);
                }
                written
            },
            pc,
        );
    }

    /// A lock was taken that no other thread took since this one had it.
    #[inline]
    pub(crate) fn acquired_again(&self, lock: u64, pc: u64) {
        /// Now and then a stamp is taken all the same: accesses are spread between stamps.
        const MOST_UNSTAMPED: u32 = 16;
        let unstamped = self.unstamped.get();
        if unstamped >= MOST_UNSTAMPED {
            return self.acquired(lock, pc);
        }
        self.unstamped.set(unstamped + 1);
        self.sync_briefly(
            |place| self.buffer.write_at(place, [self.brief(BRIEF_ACQUIRE_AGAIN, pc, lock)]),
            pc,
        );
    }

    #[inline]
    pub(crate) fn is_ignoring_sync(&self) -> bool {
        self.ignore_sync.get() != 0
    }

    /// What stands for this thread in mutexes that it had last; 0 if nothing does.
    #[inline]
    pub(crate) fn token(&self) -> u64 {
        self.token.get()
    }

    /// A lock that this thread holds, as [`holds`](Self::holds) says, is about to be given back.
    #[inline]
    pub(crate) fn released(&self, lock: u64, pc: u64) {
        self.sync_briefly(|place| self.buffer.write_at(place, [self.brief(BRIEF_RELEASE, pc, lock)]), pc);
    }

    /// A synchronisation operation with a brief record, which `write` writes if nothing was since the place was asked for.
    #[inline(always)]
    fn sync_briefly(&self, write: impl Fn(*mut u64) -> bool, pc: u64) {
        if self.is_ignoring_sync() {
            return;
        }
        self.close_region();
        loop {
            let place = self.ready_place();
            if self.runs.known(pc).is_none() {
                self.name_place(pc);
            } else if write(place) {
                break;
            }
        }
        self.coalescer.next_region();
        self.end_runs();
    }

    /// Whether this thread, and not another one or a fiber, took the mutex that says to be held by the thread with this number.
    #[inline]
    pub(crate) fn holds(&self, owner: u32) -> bool {
        owner != 0 && owner == self.kernel_id.get()
    }

    /// A synchronisation operation with one more number.
    pub(crate) fn sync_with(&self, kind: RecordKind, value: u64, pc: u64, more: u64) {
        debug_assert_eq!(kind.words(), 4);
        if self.ignore_sync.get() == 0 {
            self.close_region();
            self.write_stamped(false, |stamp| [head(kind, 0, value), pc, stamp, more & (u64::MAX >> 8)]);
            self.coalescer.next_region();
            self.end_runs();
        }
    }

    /// A block of memory was allocated, of which `usable` bytes may be used.
    pub(crate) fn allocated(&self, address: u64, size: u64, usable: u64, pc: u64) {
        let pc = self.caller_or(pc);
        let more = usable.saturating_sub(size).min(255) as u8;
        self.forget(address, usable);
        self.write_stamped(false, |stamp| {
            [head(RecordKind::Alloc, more, address), pc, stamp, size & (u64::MAX >> 8)]
        });
        self.end_runs();
    }

    /// A block of memory is about to be freed.
    pub(crate) fn freed(&self, address: u64, size: u64, pc: u64) {
        let pc = self.caller_or(pc);
        self.forget(address, size);
        self.write_stamped(true, |stamp| [head(RecordKind::Free, 0, address), pc, stamp]);
        self.end_runs();
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

    /// The thread with this number has a name.
    pub(crate) fn name_thread(&self, number: u32, name: &[u8]) {
        let mut words = [0_u64; 3];
        for (word, part) in words.iter_mut().zip(name.chunks(7)) {
            for (at, byte) in part.iter().enumerate() {
                *word |= u64::from(*byte) << (8 * at);
            }
        }
        self.write([head(RecordKind::ThreadName, 0, u64::from(number)), words[0], words[1], words[2]]);
    }

    fn forget(&self, address: u64, size: u64) {
        if !self.coalescer.forget(address, size, |line, bytes, pc| self.close_line(line, bytes, pc)) {
            self.close_region();
            self.coalescer.next_region();
        }
    }

    /// Writes the closing writes of the region.
    pub(crate) fn close_region(&self) {
        self.coalescer.close_region(|line, bytes, pc| self.close_line(line, bytes, pc));
    }

    /// Writes a record with a stamp. If a signal handler records something between stamp and record, takes another stamp:
    /// stamps of a thread never decrease.
    #[inline(always)]
    fn write_stamped<const WORDS: usize>(&self, before: bool, record: impl Fn(u64) -> [u64; WORDS]) {
        loop {
            let place = self.ready_place();
            let stamp = if before { stamp::before().max(self.last_stamp.get()) } else { stamp::now() };
            if self.buffer.write_at(place, record(stamp)) {
                self.last_stamp.set(stamp.max(self.last_stamp.get()));
                return;
            }
        }
    }

    /// Where a record can be written that has the call stack of now.
    #[inline(always)]
    fn ready_place(&self) -> *mut u64 {
        loop {
            self.prepare();
            let place = self.buffer.place();
            // A signal handler may have written its own stack, or filled the tail, before we asked.
            if self.stack.is_written() && self.buffer.has_room() {
                return place;
            }
        }
    }

    /// Writes a record that has the call stack of now.
    #[inline(always)]
    fn write<const WORDS: usize>(&self, words: [u64; WORDS]) {
        while !self.buffer.write_at(self.ready_place(), words) {}
    }

    /// Makes room for a record and brings the call stack up to date.
    #[inline(always)]
    fn prepare(&self) {
        if !self.buffer.has_room() {
            self.new_chunk();
        }
        if !self.stack.is_written() {
            self.stack.write(&self.buffer, || self.new_chunk());
        }
    }

    #[cold]
    #[inline(never)]
    fn new_chunk(&self) {
        self.new_chunk_unless(Buffer::has_room);
    }

    #[cold]
    #[inline(never)]
    fn new_chunk_early(&self) {
        self.new_chunk_unless(Buffer::has_much_room);
    }

    fn new_chunk_unless(&self, has_room: impl Fn(&Buffer) -> bool) {
        let _quiet = NoSignals::new();
        process::note_new_modules();
        if !has_room(&self.buffer) {
            self.note_coalesced();
            self.buffer.next_chunk(); // unless a signal handler was here first
            // We may be in a handler that interrupted `write_stamped` between a record and its note of the stamp.
            self.last_stamp.set(stamp::now());
            self.runs.next_tail();
            self.start_chunk();
            self.end_runs();
        }
    }

    /// Writes down how many accesses were left out so far.
    pub(crate) fn note_coalesced(&self) {
        if let Some(header) = self.buffer.header() {
            header.coalesced = self.coalescer.repeats();
        }
    }

    /// Signals are blocked.
    fn start_chunk(&self) {
        self.buffer.start_chunk(self.last_stamp.get(), self.stack.too_many() as u64);
        self.stack.write_all(&self.buffer);
    }

    #[inline(always)]
    pub(crate) fn enter_function(&self, call: usize, stack_pointer: usize) {
        self.stack.enter(call as u64, stack_pointer as u64);
    }

    #[inline(always)]
    pub(crate) fn leave_function(&self, stack_pointer: usize) {
        self.stack.leave(stack_pointer as u64);
    }

    #[inline(always)]
    fn is_ignoring(&self, write: bool) -> bool {
        (if write { &self.ignore_writes } else { &self.ignore_reads }).get() > 0
    }

    /// Counts up or down how often reads, writes and synchronisation are to be ignored.
    pub(crate) fn ignore(&self, reads: i32, writes: i32, sync: i32) {
        for (depth, change) in
            [(&self.ignore_reads, reads), (&self.ignore_writes, writes), (&self.ignore_sync, sync)]
        {
            depth.set(depth.get().saturating_add_signed(change));
        }
        if self.runs_are_allowed() {
            self.end_runs();
        } else {
            self.runs.suspend();
        }
    }

    /// As what the public interface hands out and takes back.
    pub(crate) fn as_fiber(&self) -> *mut c_void {
        (&raw const *self).cast_mut().cast()
    }
}

/// Whether a record of this kind is written before what it announces can be seen, so that its stamp may be early.
#[inline(always)]
fn comes_before(kind: RecordKind) -> bool {
    use RecordKind as K;
    matches!(
        kind,
        K::Release
            | K::ReleaseAny
            | K::Post
            | K::SemaphorePost
            | K::CondSignal
            | K::FdPost
            | K::Fork
            | K::BarrierArrive
    )
}

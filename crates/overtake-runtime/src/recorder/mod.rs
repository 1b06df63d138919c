//! The back end that records. Every thread writes into its part of one file, which is mapped shared, so that the records survive whatever
//! ends the process (`store`). Another process analyses the file later. `overtake-rawlog` defines its layout.
//!
//! A [`Recorder`] belongs to one thread. Plain accesses are handled by `accesses`, the frequent ones by assembly (`abi::access`) that
//! works on the same tables: `coalesce` (which bytes are recorded already) and `runs` (accesses at equal distances). Records go
//! into the `buffer`, after the current call stack (`stack`).

mod accesses;
pub(crate) mod buffer;
pub(crate) mod coalesce;
pub(crate) mod runs;
pub(crate) mod stack;
pub(crate) mod store;

use core::cell::Cell;
use core::num::NonZeroUsize;

use overtake_rawlog::{
    BRIEF_ACQUIRE, BRIEF_ACQUIRE_AGAIN, BRIEF_RELEASE, RecordKind, ThreadHeader, block_size, brief_head, head,
};

use crate::detour::Detour;
use crate::process;
use crate::program;
use crate::stamp;
use crate::sys::NoSignals;
use buffer::Buffer;
use coalesce::{Coalescer, Table};
use runs::Runs;
use stack::{CallStack, Frames};

/// The recording state of one thread. Only that thread, and signal handlers on it, use it. All zeros is valid.
#[repr(C)]
pub(crate) struct Recorder {
    coalescer: Coalescer,
    runs: Runs,
    stack: CallStack,
    buffer: Buffer,
    last_stamp: Cell<u64>,
    /// Locks acquired since the last stamp.
    unstamped: Cell<u32>,
    /// What is not recorded now. Callers check this before they call.
    muted: [Cell<bool>; 2],
    sync_muted: Cell<bool>,
    /// Whether accesses may become runs.
    runs_are_allowed: Cell<bool>,
    last_atomic: LastAtomic,
}

/// Memory of an ended thread, for another one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kept {
    frames: Option<Frames>,
    table: Option<Table>,
}

impl Kept {
    /// Frees the memory.
    pub(crate) fn unmap(self) {
        self.frames.inspect(|frames| frames.unmap());
        self.table.inspect(|table| table.unmap());
    }
}

/// In [`LastAtomic::end`]: an operation is being recorded.
const BEING_NOTED: *mut u64 = core::ptr::without_provenance_mut(8);

/// The last atomic operation that was recorded.
struct LastAtomic {
    /// Where the cursor was after it; null if there is none in this tail.
    end: Cell<*mut u64>,
    /// The first word of its record.
    head: Cell<u64>,
    pc: Cell<u64>,
    /// How many there were on locations like its own, with itself and with those that repeated it.
    counts: Cell<Counts>,
    /// How many operations repeated the recorded one before them.
    repeats: Cell<u64>,
}

/// How many operations and how many stores there were on some locations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) operations: u64,
    pub(crate) stores: u64,
}

impl Counts {
    /// The counts after an operation of this kind.
    #[inline(always)]
    pub(crate) fn after(self, kind: RecordKind) -> Counts {
        let is_store = kind != RecordKind::AtomicLoad;
        Counts {
            operations: self.operations.wrapping_add(1),
            stores: self.stores.wrapping_add(u64::from(is_store)),
        }
    }
}

/// Which operations of a thread are not recorded.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Muted {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) sync: bool,
}

impl Muted {
    /// Nothing is recorded.
    pub(crate) const ALL: Muted = Muted { reads: true, writes: true, sync: true };
}

/// Where the hooks for accesses find what they need, see `abi::access`.
pub(crate) mod offsets {
    use super::{Recorder, buffer, runs, stack};
    use core::mem::offset_of;

    pub(crate) const PLACES: usize = offset_of!(Recorder, runs) + runs::offsets::TABLE;
    pub(crate) const FLOOR: usize = offset_of!(Recorder, runs) + runs::offsets::FLOOR;
    pub(crate) const CURSOR: usize = offset_of!(Recorder, buffer) + buffer::CURSOR;
    pub(crate) const END: usize = offset_of!(Recorder, buffer) + buffer::END;
    pub(crate) const TAG: usize = offset_of!(Recorder, runs) + runs::offsets::TAG;
    pub(crate) const SINCE: usize = offset_of!(Recorder, stack) + stack::SINCE;
}

// The hooks for accesses rely on this.
const _: () = assert!(core::mem::offset_of!(Recorder, coalescer) == 0);

/// Where threads continue that a signal handler interrupted in a function of the recorder.
pub(crate) fn detours() -> impl Iterator<Item = &'static Detour> {
    buffer::DETOURS.iter().chain(runs::DETOURS).chain(coalesce::DETOURS)
}

impl Recorder {
    /// Prepares for a thread whose own stack is `stack`, with the memory that an ended thread `kept`. False if there is no memory. Nothing
    /// can be recorded before [`open_log`](Self::open_log).
    pub(crate) fn open(&self, stack: (u64, u64), exact: bool, kept: Kept) -> bool {
        if !self.stack.open(stack, kept.frames) {
            kept.unmap();
            return false;
        }
        self.coalescer.open(exact, kept.table);
        self.runs.suspend(); // until there is a log
        true
    }

    /// This thread records nothing, because another back end is in use. No access is found in the tables, so that all of them
    /// take the slow path.
    pub(crate) fn stand_aside(&self) {
        self.mute(Muted::ALL);
        self.buffer.open_nowhere();
    }

    /// Starts the log of the thread.
    pub(crate) fn open_log(&self, header: &ThreadHeader) {
        self.buffer.open(header);
        self.allow_runs();
        self.runs.next_tail();
        self.start_chunk();
        self.end_runs();
    }

    /// In a child process after `fork`: the file so far belongs to the parent.
    pub(crate) fn abandon_log(&self) {
        self.last_atomic.end.set(core::ptr::null_mut());
        self.buffer.abandon();
        self.last_stamp.set(0);
        self.coalescer.next_region();
    }

    /// The thread has ended: no record may be written afterwards. Returns memory for another thread.
    pub(crate) fn close(&self) -> Kept {
        self.note_coalesced();
        if let Some(header) = self.buffer.header() {
            header.ended = 1;
        }
        self.buffer.close();
        Kept { frames: self.stack.close(), table: self.coalescer.close() }
    }

    /// The thread's own stack.
    pub(crate) fn own_stack(&self) -> (u64, u64) {
        self.stack.own()
    }

    /// Sets what is not recorded from now on.
    pub(crate) fn mute(&self, muted: Muted) {
        self.muted[0].set(muted.reads);
        self.muted[1].set(muted.writes);
        self.sync_muted.set(muted.sync);
        self.allow_runs();
        if self.runs_are_allowed.get() {
            self.end_runs();
        } else {
            self.runs.suspend();
        }
    }

    fn allow_runs(&self) {
        let none_is_muted = self.muted.iter().all(|muted| !muted.get());
        self.runs_are_allowed.set(self.coalescer.is_active() && none_is_muted);
    }

    #[inline(always)]
    pub(crate) fn is_muted(&self, write: bool) -> bool {
        self.muted[usize::from(write)].get()
    }

    #[inline(always)]
    pub(crate) fn is_sync_muted(&self) -> bool {
        self.sync_muted.get()
    }

    /// The first word of a brief record. The log must already have the program counter's place.
    #[inline(always)]
    fn brief(&self, code: u8, pc: u64, address: u64) -> u64 {
        brief_head(code, self.runs.number(pc), address)
    }

    /// Writes to the log which program counter a place stands for.
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

    /// Accesses from here on must not be moved before the records so far.
    #[inline(always)]
    fn end_runs(&self) {
        if self.runs_are_allowed.get() {
            self.runs.end_before(self.buffer.place());
        }
    }

    /// A signal handler is about to run: what it does, and what the interrupted code does after it, comes after all records so far.
    pub(crate) fn interrupted(&self) {
        self.last_atomic.end.set(core::ptr::null_mut());
        self.close_region();
        self.coalescer.next_region();
        self.end_runs();
    }

    /// A synchronisation operation on `value`, stamped now.
    #[inline]
    pub(crate) fn sync(&self, kind: RecordKind, extra: u8, value: u64, pc: u64) {
        debug_assert_eq!(kind.words(), 3);
        self.close_region();
        self.write_stamped(comes_before(kind), |stamp| [head(kind, extra, value), pc, stamp]);
        self.coalescer.next_region();
        self.end_runs();
    }

    /// An atomic operation, stamped now; `before` counts the earlier ones on locations like this one. One that repeats the last record is
    /// only counted.
    #[inline]
    pub(crate) fn atomic(&self, kind: RecordKind, extra: u8, address: u64, pc: u64, before: Counts) {
        let head = head(kind, extra, address);
        let last = &self.last_atomic;
        let (counts, is_load) = (last.counts.get(), kind == RecordKind::AtomicLoad);
        let is_undisturbed = counts == before || is_load && counts.stores == before.stores;
        if last.end.get() == self.buffer.place()
            && last.head.get() == head
            && last.pc.get() == pc
            && is_undisturbed
            && self.coalescer.is_active()
        {
            last.counts.set(before.after(kind));
            return last.repeats.set(last.repeats.get() + 1);
        }
        last.end.set(BEING_NOTED);
        self.sync(kind, extra, address, pc);
        if last.end.get() == BEING_NOTED {
            last.end.set(self.buffer.place()); // unless a signal handler recorded something
            last.head.set(head);
            last.pc.set(pc);
            last.counts.set(before.after(kind));
        }
    }

    /// Calls `each` with the return addresses of the call stack, innermost first.
    pub(crate) fn calls(&self, each: impl FnMut(u64)) {
        self.stack.calls(each);
    }

    /// Does what can be done before a lock is acquired, so that it is held for a shorter time.
    #[inline]
    pub(crate) fn about_to_acquire(&self) {
        self.close_region();
        if !self.buffer.has_much_room() {
            self.new_chunk_early();
        }
    }

    /// A lock was acquired by a call that may wait.
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

    /// A lock was acquired again, and no other thread had it in between.
    #[inline]
    pub(crate) fn acquired_again(&self, lock: u64, pc: u64) {
        /// After this many, a stamp is taken nevertheless, because sealing spreads accesses between stamps.
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

    /// A lock that this thread holds is about to be released.
    #[inline]
    pub(crate) fn released(&self, lock: u64, pc: u64) {
        self.sync_briefly(|place| self.buffer.write_at(place, [self.brief(BRIEF_RELEASE, pc, lock)]), pc);
    }

    /// A synchronisation operation with a brief record. `write` writes it if nothing was written since the place was read.
    #[inline(always)]
    fn sync_briefly(&self, write: impl Fn(*mut u64) -> bool, pc: u64) {
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

    /// A synchronisation operation with a further number.
    pub(crate) fn sync_with(&self, kind: RecordKind, extra: u8, value: u64, pc: u64, more: u64) {
        debug_assert_eq!(kind.words(), 4);
        self.close_region();
        self.write_stamped(false, |stamp| [head(kind, extra, value), pc, stamp, more & (u64::MAX >> 8)]);
        self.coalescer.next_region();
        self.end_runs();
    }

    /// A block of memory was allocated, of which `usable` bytes may be used.
    pub(crate) fn allocated(&self, address: u64, (size, usable): (u64, u64), is_access: bool, pc: u64) {
        let more = usable.saturating_sub(size).min(255) as u8;
        self.forget(address, usable);
        self.write_stamped(false, |stamp| {
            [head(RecordKind::Alloc, more, address), pc, stamp, block_size(size, is_access)]
        });
        self.end_runs();
    }

    /// A block of memory is about to be freed; `extra` is 1 if this does not count as an access.
    pub(crate) fn freed(&self, address: u64, size: u64, extra: u8, pc: u64) {
        self.forget(address, size);
        self.write_stamped(true, |stamp| [head(RecordKind::Free, extra, address), pc, stamp]);
        self.end_runs();
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

    /// Writes a record with a stamp. If a signal handler records something between stamp and record, takes another stamp, because
    /// the stamps of a thread must not decrease.
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

    /// The place for a record, after the current call stack was written.
    #[inline(always)]
    fn ready_place(&self) -> *mut u64 {
        loop {
            self.prepare();
            let place = self.buffer.place();
            // A signal handler may have written its own stack, or filled the tail, before we read the place.
            if self.stack.is_written() && self.buffer.has_room() {
                return place;
            }
        }
    }

    /// Writes a record with the current call stack.
    #[inline(always)]
    fn write<const WORDS: usize>(&self, words: [u64; WORDS]) {
        while !self.buffer.write_at(self.ready_place(), words) {}
    }

    /// Makes room for a record and writes the current call stack.
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
            self.last_atomic.end.set(core::ptr::null_mut());
            self.runs.next_tail();
            self.start_chunk();
            self.end_runs();
        }
    }

    /// Writes to the log how many accesses were left out so far.
    pub(crate) fn note_coalesced(&self) {
        if let Some(header) = self.buffer.header() {
            header.coalesced = self.coalescer.repeats() + self.last_atomic.repeats.get();
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

    /// How many functions the call stack has, for a function that calls us with this stack pointer.
    #[cfg(feature = "staticlib")]
    pub(crate) fn depth(&self, stack_pointer: usize) -> u64 {
        self.stack.depth(stack_pointer as u64)
    }

    /// Puts the call by which the program entered a library on the call stack. Returns what [`leave_library`](Self::leave_library) takes;
    /// nothing if no such call is known.
    #[cold]
    #[inline(never)]
    pub(crate) fn enter_library(&self) -> Option<NonZeroUsize> {
        let call = self.stack.call_in_progress().filter(|call| program::holds(call.from as usize))?;
        self.stack.enter(call.from, call.stack_pointer);
        NonZeroUsize::new(call.stack_pointer as usize)
    }

    /// Takes that call from the call stack.
    #[cold]
    #[inline(never)]
    pub(crate) fn leave_library(&self, stack_pointer: NonZeroUsize) {
        self.stack.leave(stack_pointer.get() as u64);
    }

    #[inline(always)]
    pub(crate) fn leave_function(&self, stack_pointer: usize) {
        self.stack.leave(stack_pointer as u64);
    }
}

/// Whether a record of this kind is written before other threads can see its effect, so that its stamp may be early.
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
            | K::Destroy
            | K::FdClose
            | K::CondWait
    )
}

#[cfg(test)]
mod tests;

//! Where a thread's records go: into the tail, a small mapped part of the log file. A full tail is copied to the end of the file, as a
//! chunk.
//!
//! A tail is used over and over: its pages are mapped already, and in the cache. Mapping a new part of the file for each chunk would cost
//! 4 microseconds a page on ext4; copying with `pwrite` costs 1.3.
//!
//! **Invariants.**
//!   B1  `next <= end`, except for records that are being written. Both are in a mapped tail that only this thread writes, with
//!       [`SLACK_BYTES`] mapped behind `end`.
//!   B2  A record's words are filled, the first one last, before one instruction moves the cursor over them. If a signal handler
//!       of the same thread comes before that instruction, it records over these words, and they are written again (`detour`).
//!   B3  A tail has a header, with the thread and the number of the chunk, in front of its records.
//!   B4  Tails alternate, and change while signals are blocked. Words that were filled behind the cursor (B2) are cleared first.
//!   B5  No thread has a file of its own (`store`).
//!   B6  A tail other than the current one never has the number of the next chunk.
//!
//! When the log cannot grow, records go to a private tail that is used over and over, and their bytes are counted as lost.

use core::cell::Cell;

use overtake_rawlog::{
    PAGE_BYTES, PIECE_HEADER_BYTES, PieceHeader, PieceKind, RecordKind, SMALL_CHUNKS, THREAD_AT,
    THREAD_HEADER_BYTES, ThreadHeader, head, tail_bytes,
};

use super::store;
use crate::detour::{Detour, here, labels};
use crate::process;
use crate::sys::{self, Errno};

/// Room behind `end`. A thread checks for room before each record; when signal handlers interrupt each other between check
/// and record, each of them may still add a record and two pushes: 48 bytes. The last chunk of a thread has its header there.
const SLACK_BYTES: usize = 1024;
/// Enough for the records of a short critical section.
const MUCH_ROOM_BYTES: usize = 1024;
/// Size of the private tail for records that are lost.
const LOSING_BYTES: usize = 16 * 1024;

/// All zeros is a valid buffer that has not been opened.
pub(crate) struct Buffer {
    next: Cell<*mut u64>,
    end: Cell<*mut u64>,
    /// The current tail.
    tail: Cell<*mut u8>,
    tail_bytes: Cell<usize>,
    /// The slot of the thread, and its large tails if it has any.
    slot: Cell<*mut u8>,
    large: Cell<*mut u8>,
    /// Number of the chunk in the tail.
    chunk: Cell<u64>,
    /// Records are lost: they do not go to the file.
    losing: Cell<bool>,
}

/// Where the hooks for accesses find the cursor and its limit, see `abi::access`.
pub(crate) const CURSOR: usize = core::mem::offset_of!(Buffer, next);
pub(crate) const END: usize = core::mem::offset_of!(Buffer, end);

impl Buffer {
    /// Takes a slot, writes the thread's header into it and starts the first chunk. Without a slot, everything is lost. Signals are
    /// blocked.
    pub(crate) fn open(&self, header: &ThreadHeader) {
        self.chunk.set(0);
        self.losing.set(false);
        match store::take_slot() {
            Ok(slot) => {
                self.slot.set(slot);
                // SAFETY: a slot of this thread's own, with room for a header, aligned.
                unsafe { slot.wrapping_add(THREAD_AT).cast::<ThreadHeader>().write(*header) };
                self.use_tail();
            }
            Err(error) => self.lose(error),
        }
    }

    /// Records stay in memory, as long as there is room; for tests.
    #[cfg(test)]
    pub(crate) fn open_in_memory(&self) {
        const BYTES: usize = 4 << 20;
        self.losing.set(true);
        self.tail.set(sys::map_private(BYTES).expect("memory"));
        self.tail_bytes.set(BYTES);
        self.rewind();
    }

    /// What was recorded since [`open_in_memory`](Self::open_in_memory).
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the tail is mapped and nobody writes to it meanwhile.
        unsafe { core::slice::from_raw_parts(self.tail.get().wrapping_add(PIECE_HEADER_BYTES), self.used()) }
    }

    /// For a thread that never writes: there is always room.
    pub(crate) fn open_nowhere(&self) {
        self.next.set(core::ptr::null_mut());
        self.end.set(core::ptr::without_provenance_mut(usize::MAX));
    }

    /// Whether a record still fits into the tail. If not, [`next_chunk`](Self::next_chunk) must be called.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.place() < self.limit()
    }

    /// Whether a hundred records still fit.
    #[inline(always)]
    pub(crate) fn has_much_room(&self) -> bool {
        self.place().wrapping_add(MUCH_ROOM_BYTES / 8) < self.limit()
    }

    #[inline(always)]
    fn limit(&self) -> *mut u64 {
        // Volatile: signal handlers may change to another tail.
        // SAFETY: reads a field.
        unsafe { self.end.as_ptr().read_volatile() }
    }

    /// Writes a record whose further words have a zero top byte.
    #[inline(always)]
    pub(crate) fn write<const WORDS: usize>(&self, words: [u64; WORDS]) {
        while !self.write_at(self.place(), words) {}
    }

    /// The place of the next record.
    #[inline(always)]
    pub(crate) fn place(&self) -> *mut u64 {
        // Volatile: signal handlers move it.
        // SAFETY: reads a field.
        unsafe { self.next.as_ptr().read_volatile() }
    }

    /// Writes a record if nothing was written since the caller got `place`. False if it has to be written again.
    #[inline(always)]
    pub(crate) fn write_at<const WORDS: usize>(&self, place: *mut u64, words: [u64; WORDS]) -> bool {
        let word = |number: usize| words.get(number).copied().unwrap_or(0);
        let append = const { APPEND[WORDS - 1] };
        // SAFETY: only this thread uses the cursor; it is a place in a tail with room for a record (B1).
        unsafe { append(self.next.as_ptr(), place, word(0), word(1), word(2), word(3)) }
    }

    /// Changes to a new chunk, which the caller starts with [`start_chunk`](Self::start_chunk). Signals are blocked.
    pub(crate) fn next_chunk(&self) {
        let Some(_writing) = store::Writing::begin() else { return self.write_nowhere() };
        if self.losing.get() {
            self.count_lost();
            return self.rewind();
        }
        let bytes = self.tail_bytes.get() - PIECE_HEADER_BYTES;
        match self.seal(PieceKind::Chunk, bytes).and_then(|()| self.map_large()) {
            Ok(()) => {
                self.chunk.set(self.chunk.get() + 1);
                self.use_tail();
            }
            Err(error) => self.lose(error),
        }
    }

    /// Starts a chunk. `stamp` is not later than those that follow, `unknown` is the number of outermost frames that
    /// the caller does not write. The caller writes the call stack next.
    pub(crate) fn start_chunk(&self, stamp: u64, unknown: u64) {
        self.write([head(RecordKind::Chunk, 0, unknown), stamp, self.chunk.get()]);
    }

    /// Copies the tail into a piece of its own, with `bytes` bytes behind its header.
    fn seal(&self, kind: PieceKind, bytes: usize) -> Result<(), Errno> {
        self.clear_unwritten();
        let piece: *mut PieceHeader = self.tail.get().cast();
        // SAFETY: the tail is mapped, has so many bytes, and belongs to this thread.
        unsafe {
            (*piece).kind = kind as u32;
            (*piece).bytes = bytes as u64;
            store::write(piece)
        }
    }

    /// Clears the words behind the cursor, which interrupted code may have filled (B4).
    fn clear_unwritten(&self) {
        for number in 0..MOST_WORDS {
            // SAFETY: B1: there is room for several records behind `end`.
            unsafe { self.next.get().add(number).write(0) };
        }
    }

    /// Threads that record much get larger tails.
    fn map_large(&self) -> Result<(), Errno> {
        if self.chunk.get() + 1 == SMALL_CHUNKS {
            let large = store::take_large()?;
            self.large.set(large);
            if let Some(header) = self.header() {
                // SAFETY: the piece was just taken.
                header.large = unsafe { store::offset_of(large) };
            }
        }
        Ok(())
    }

    /// Empties the tail for the current chunk and makes it the current one.
    fn use_tail(&self) {
        let chunk = self.chunk.get();
        let bytes = tail_bytes(chunk);
        let pair = if chunk < SMALL_CHUNKS { &self.slot } else { &self.large };
        let tail = pair.get().wrapping_add(PAGE_BYTES + chunk as usize % 2 * bytes);
        let thread = self.header().map_or(0, |header| header.number);
        // SAFETY: within the pair, which only this thread knows. It is cleared from the front: B6.
        unsafe {
            sys::clear(tail, bytes);
            tail.cast::<PieceHeader>().write(store::new_header(PieceKind::Tail, thread, chunk, 0));
        }
        self.tail.set(tail);
        self.tail_bytes.set(bytes);
        self.rewind();
    }

    /// From now on records are lost and counted. The last tail stays as it is.
    fn lose(&self, reason: Errno) {
        store::note_loss(reason);
        process::note_loss(reason);
        self.use_private_tail();
    }

    /// The log is being read (`store::close`): what the thread does from now on is not part of it. Its tail stays as it is.
    fn write_nowhere(&self) {
        match self.losing.get() {
            true => self.rewind(),
            false => self.use_private_tail(),
        }
    }

    /// From now on records go to a tail that is not in the file.
    fn use_private_tail(&self) {
        static LAST_RESORT: Scratch = Scratch([const { Cell::new(0) }; SCRATCH_WORDS]);
        self.losing.set(true);
        let (tail, bytes) = match sys::map_private(LOSING_BYTES) {
            Ok(tail) => (tail, LOSING_BYTES),
            // There is no memory at all: all threads write over one page that nobody reads.
            Err(_) => (LAST_RESORT.0.as_ptr() as *mut u8, SCRATCH_WORDS * 8),
        };
        self.tail.set(tail);
        self.tail_bytes.set(bytes);
        self.rewind();
    }

    fn count_lost(&self) {
        if let Some(header) = self.header() {
            header.lost_bytes += self.used() as u64;
        }
    }

    /// Bytes of records in the tail.
    fn used(&self) -> usize {
        self.next.get() as usize - self.tail.get() as usize - PIECE_HEADER_BYTES
    }

    fn rewind(&self) {
        self.next.set(self.tail.get().wrapping_add(PIECE_HEADER_BYTES).cast());
        self.end.set(self.tail.get().wrapping_add(self.tail_bytes.get() - SLACK_BYTES).cast());
    }

    /// The header of the thread, to update.
    #[allow(clippy::mut_from_ref, reason = "one thread, no reference kept across calls")]
    pub(crate) fn header(&self) -> Option<&mut ThreadHeader> {
        let slot = self.slot.get();
        // SAFETY: mapped for as long as the thread lives, written by this thread only.
        (!slot.is_null()).then(|| unsafe { &mut *slot.wrapping_add(THREAD_AT).cast::<ThreadHeader>() })
    }

    /// Writes the contents of the tail and returns the slot for other threads. No record may be written afterwards.
    pub(crate) fn close(&self) {
        let Some(_writing) = store::Writing::begin() else { return self.abandon() };
        if self.losing.get() {
            self.count_lost();
        } else if self.write_last().is_ok() {
            self.give_back();
        }
        self.abandon();
    }

    /// Writes the last chunk, with the thread's header behind its records. If that fails, they stay in the slot, which is not used again.
    fn write_last(&self) -> Result<(), Errno> {
        let header = self.header().ok_or(Errno(libc::EBADF))?;
        let used = self.used();
        // SAFETY: B1: there is room behind `end`.
        unsafe { self.next.get().cast::<ThreadHeader>().write(*header) };
        self.next.set(self.next.get().wrapping_add(THREAD_HEADER_BYTES / 8));
        self.seal(PieceKind::Last, used + THREAD_HEADER_BYTES)
    }

    /// Returns the slot. All its records are in chunks now.
    fn give_back(&self) {
        if let Some(header) = self.header() {
            header.magic = 0;
        }
        // SAFETY: they are this thread's own until here; its header is gone.
        unsafe {
            store::give_slot_back(self.slot.get());
            if !self.large.get().is_null() {
                store::give_large_back(self.large.get());
            }
        }
    }

    /// Forgets the slot, which belongs to the parent in a child process.
    pub(crate) fn abandon(&self) {
        self.slot.set(core::ptr::null_mut());
        self.large.set(core::ptr::null_mut());
    }
}

/// Words of the longest record.
const MOST_WORDS: usize = 4;

/// Takes the address of the cursor, its expected value, and the words.
type Append = unsafe extern "C" fn(*mut *mut u64, *mut u64, u64, u64, u64, u64) -> bool;

/// Functions that write a record with a given number of words to `place`, if the cursor is there, and move the cursor. They return false
/// if it is elsewhere, or if a signal handler came in between.
macro_rules! appends {
    ($($words:literal: [$($fill:literal)*];)*) => {
        $(core::arch::global_asm!(
            concat!(".pushsection .text.overtake_append", $words, ",\"ax\",@progbits"),
            ".p2align 4",
            here!("overtake_append" $words),
            ".cfi_startproc",
            "cmp [rdi], rsi",
            "jne 2f",
            $($fill,)*
            "mov [rsi], rdx",
            concat!("add rsi, 8 * ", $words),
            "mov [rdi], rsi",
            here!("overtake_appended" $words),
            "mov eax, 1",
            "ret",
            here!("overtake_not_appended" $words),
            "2:",
            "xor eax, eax",
            "ret",
            ".cfi_endproc",
            ".popsection",
        );)*

        /// By number of words, minus one.
        const APPEND: [Append; MOST_WORDS] = [$({
            unsafe extern "C" {
                #[link_name = concat!("overtake_append", $words)]
                fn append(cursor: *mut *mut u64, place: *mut u64, a: u64, b: u64, c: u64, d: u64) -> bool;
            }
            append
        },)*];

        /// Where threads continue that a signal handler interrupted in one of these functions.
        pub(crate) static DETOURS: &[Detour] = &[$({
            labels!(
                begin = concat!("overtake_append", $words),
                appended = concat!("overtake_appended", $words),
                not_appended = concat!("overtake_not_appended", $words),
            );
            Detour::new(begin, appended, not_appended)
        },)*];
    };
}

appends! {
    1: [];
    2: ["mov [rsi + 8], rcx"];
    3: ["mov [rsi + 16], r8" "mov [rsi + 8], rcx"];
    4: ["mov [rsi + 24], r9" "mov [rsi + 16], r8" "mov [rsi + 8], rcx"];
}

const SCRATCH_WORDS: usize = 1024;
struct Scratch([Cell<u64>; SCRATCH_WORDS]);
// SAFETY: written without order and never read.
unsafe impl Sync for Scratch {}

//! Where a thread's records go: a file of its own, mapped chunk by chunk.
//!
//! **Invariants.**
//!   B1  `next <= end`, both in a mapped chunk that only this thread writes, with [`SLACK_BYTES`] mapped behind `end`.
//!   B2  A record's words are reserved by one instruction before they are filled, so that a signal handler of the same thread
//!       records behind them, not over them.
//!   B3  The room of a chunk is reserved in the file before the chunk is mapped, so that filling it cannot fault on a full disk.
//!
//! When there is no room, records go to a private chunk that is used over and over, and their bytes are counted as lost.

use core::arch::asm;
use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering};

use overtake_rawlog::{HEADER_BYTES, RecordKind, ThreadHeader, head};

use crate::process;
use crate::sys::{self, Fd};

/// Size of the first chunk: many threads do little.
const FIRST_CHUNK_BYTES: usize = 64 * 1024;
/// Size of the others.
const CHUNK_BYTES: usize = 1024 * 1024;
/// Room behind `end`: the largest record, reserved once by the thread and once by each signal handler that interrupts it there.
const SLACK_BYTES: usize = 1024;

/// Bytes of chunks that all threads have in their files.
static BYTES_IN_USE: AtomicU64 = AtomicU64::new(0);

pub(crate) struct Buffer {
    next: Cell<*mut u64>,
    end: Cell<*mut u64>,
    chunk: Cell<*mut u8>,
    chunk_bytes: Cell<usize>,
    file: Cell<Fd>,
    /// Where the next chunk goes in the file.
    file_end: Cell<u64>,
    /// The current chunk is not in the file.
    losing: Cell<bool>,
    header: Cell<*mut ThreadHeader>,
}

impl Buffer {
    /// A buffer over `file`, whose header is mapped at `header`. It has no chunk until [`next_chunk`](Self::next_chunk).
    pub(crate) fn new(file: Fd, header: *mut ThreadHeader) -> Buffer {
        Buffer {
            next: Cell::new(core::ptr::null_mut()),
            end: Cell::new(core::ptr::null_mut()),
            chunk: Cell::new(core::ptr::null_mut()),
            chunk_bytes: Cell::new(0),
            file: Cell::new(file),
            file_end: Cell::new(HEADER_BYTES as u64),
            losing: Cell::new(false),
            header: Cell::new(header),
        }
    }

    /// Whether a record still fits the chunk; if not, [`next_chunk`](Self::next_chunk) is due.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.next.get() < self.end.get()
    }

    /// Writes a record whose further words have a zero top byte.
    #[inline(always)]
    pub(crate) fn write<const WORDS: usize>(&self, words: [u64; WORDS]) {
        let mut at = WORDS * 8;
        // SAFETY: adds to the cursor, which is this thread's own, in one instruction (B2).
        unsafe {
            asm!(
                "xadd qword ptr [{cursor}], {at}",
                cursor = in(reg) self.next.as_ptr(),
                at = inout(reg) at,
                options(nostack),
            );
        }
        let at = at as *mut u64;
        // SAFETY: B1: the words lie in a chunk only this thread writes. Volatile and last word first, so that a record
        // whose first word is there is complete.
        unsafe {
            for word in (0..WORDS).rev() {
                at.add(word).write_volatile(words[word]);
            }
        }
    }

    /// Goes on to a new chunk; `stamp` is that of the last synchronisation record. The caller writes the call stack next.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_chunk(&self, stamp: u64) {
        if self.losing.get() {
            self.count_lost();
            self.rewind(self.chunk.get(), self.chunk_bytes.get());
        } else if self.map_next().is_err() {
            self.lose();
        }
        self.write([head(RecordKind::Chunk, 0, 0), stamp & (u64::MAX >> 8)]);
    }

    fn map_next(&self) -> Result<(), sys::Errno> {
        let bytes = if self.file_end.get() == HEADER_BYTES as u64 { FIRST_CHUNK_BYTES } else { CHUNK_BYTES };
        self.stay_within_limit(bytes);
        self.file.get().allocate(self.file_end.get(), bytes)?; // B3
        let chunk = sys::map_file(self.file.get(), self.file_end.get(), bytes)?;
        self.unmap();
        self.chunk.set(chunk);
        self.chunk_bytes.set(bytes);
        self.file_end.set(self.file_end.get() + bytes as u64);
        BYTES_IN_USE.fetch_add(bytes as u64, Ordering::Relaxed);
        self.rewind(chunk, bytes);
        Ok(())
    }

    /// Gives up this thread's oldest chunk when all threads together have reached the size limit.
    fn stay_within_limit(&self, bytes: usize) {
        let limit = process::size_limit();
        if limit == 0 || BYTES_IN_USE.load(Ordering::Relaxed) + bytes as u64 <= limit {
            return;
        }
        let Some(header) = self.header() else { return };
        let first = header.first_chunk;
        let oldest = if first == HEADER_BYTES as u64 { FIRST_CHUNK_BYTES } else { CHUNK_BYTES };
        // The chunk in use stays.
        if first + oldest as u64 + self.chunk_bytes.get() as u64 <= self.file_end.get() {
            self.file.get().punch(first, oldest);
            header.first_chunk = first + oldest as u64;
            header.dropped_bytes += oldest as u64;
            BYTES_IN_USE.fetch_sub(oldest as u64, Ordering::Relaxed);
        }
    }

    /// From now on records go nowhere and are counted.
    fn lose(&self) {
        static LAST_RESORT: Scratch = Scratch([const { Cell::new(0) }; SCRATCH_WORDS]);
        self.losing.set(true);
        let (chunk, bytes) = match sys::map_private(FIRST_CHUNK_BYTES) {
            Ok(chunk) => (chunk, FIRST_CHUNK_BYTES),
            // No memory at all: all threads scribble over one page that nobody reads.
            Err(_) => (LAST_RESORT.0.as_ptr() as *mut u8, SCRATCH_WORDS * 8),
        };
        self.unmap();
        self.chunk.set(chunk);
        self.chunk_bytes.set(bytes);
        self.rewind(chunk, bytes);
    }

    fn count_lost(&self) {
        let written = self.next.get() as usize - self.chunk.get() as usize;
        if let Some(header) = self.header() {
            header.lost_bytes += written as u64;
        }
    }

    fn rewind(&self, chunk: *mut u8, bytes: usize) {
        self.next.set(chunk.cast());
        // SAFETY: within the chunk, whose size is well above the slack.
        self.end.set(unsafe { chunk.add(bytes - SLACK_BYTES) }.cast());
    }

    fn unmap(&self) {
        let chunk = self.chunk.replace(core::ptr::null_mut());
        if !chunk.is_null() {
            // SAFETY: B1: only this thread knew the chunk, and its cursor leaves it now.
            unsafe { sys::unmap(chunk, self.chunk_bytes.get()) };
        }
    }

    /// The header at the front of the file, to update.
    #[allow(clippy::mut_from_ref, reason = "one thread, no reference kept across calls")]
    pub(crate) fn header(&self) -> Option<&mut ThreadHeader> {
        // SAFETY: mapped for as long as the thread lives, written by this thread only.
        unsafe { self.header.get().as_mut() }
    }

    /// Unmaps and closes everything. No record may be written afterwards.
    pub(crate) fn close(&self) {
        if self.losing.get() {
            self.count_lost();
        }
        self.unmap();
        let header = self.header.replace(core::ptr::null_mut());
        if !header.is_null() {
            // SAFETY: no reference to the header is kept.
            unsafe { sys::unmap(header.cast(), HEADER_BYTES) };
        }
        self.file.replace(Fd::NONE).close();
    }

    /// In a child process: the file and its mappings belong to the parent.
    pub(crate) fn abandon_after_fork(&self) {
        self.unmap();
        self.header.set(core::ptr::null_mut());
        self.file.replace(Fd::NONE).close();
        BYTES_IN_USE.store(0, Ordering::Relaxed);
    }
}

const SCRATCH_WORDS: usize = 1024;
struct Scratch([Cell<u64>; SCRATCH_WORDS]);
// SAFETY: written without order and never read.
unsafe impl Sync for Scratch {}

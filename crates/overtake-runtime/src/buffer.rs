//! Where a thread's records go: a file of its own, mapped chunk by chunk.
//!
//! **Invariants.**
//!   B1  `next <= end` but for records on their way, both in a mapped chunk that only this thread writes, with
//!       [`SLACK_BYTES`] mapped behind `end`.
//!   B2  A record's words are reserved by one instruction before they are filled, so that a signal handler of the same thread
//!       records behind them, not over them.
//!   B3  The room of a chunk is reserved in the file before the chunk is mapped, so that filling it cannot fault on a full disk.
//!   B4  Chunks change with signals blocked. The chunk before stays mapped: code that a signal handler interrupted may
//!       still fill words there. (A handler that records a whole further chunk meanwhile would break this; coalescing
//!       makes that 30,000 different accesses.)
//!   B5  No file stays open: 5,000 threads would exceed the usual limit, and programs close descriptors they do not know.
//!
//! When there is no room, records go to a private chunk that is used over and over, and their bytes are counted as lost.

use core::arch::asm;
use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicU64, Ordering};

use overtake_rawlog::{HEADER_BYTES, RecordKind, ThreadHeader, chunk_bytes, head};

use crate::process;
use crate::sys::{self, Errno, Fd};
use crate::text::Text;

/// Room behind `end`. A thread checks for room before each record; when signal handlers interrupt each other between check
/// and reservation, each of them may still add a record and two pushes: 48 bytes.
const SLACK_BYTES: usize = 1024;
/// Size of the private chunk for records that are lost.
const LOSING_BYTES: usize = 16 * 1024;

/// Bytes of chunks that all threads have in their files.
static BYTES_IN_USE: AtomicU64 = AtomicU64::new(0);

/// All zeros is a valid buffer that has not been opened.
pub(crate) struct Buffer {
    next: Cell<*mut u64>,
    end: Cell<*mut u64>,
    chunk: Cell<*mut u8>,
    chunk_bytes: Cell<usize>,
    /// The chunk before (B4).
    previous: Cell<*mut u8>,
    previous_bytes: Cell<usize>,
    /// Number of the next chunk and where it goes in the file.
    chunk_number: Cell<u64>,
    file_end: Cell<u64>,
    /// Number of the oldest chunk that has not been given up.
    oldest: Cell<u64>,
    /// The current chunk is not in the file.
    losing: Cell<bool>,
    header: Cell<*mut ThreadHeader>,
    path: UnsafeCell<Text>,
}

impl Buffer {
    /// Creates the file and writes its header. Without one, everything is lost. There is no chunk until
    /// [`next_chunk`](Self::next_chunk).
    pub(crate) fn open(&self, header: &ThreadHeader) {
        self.chunk_number.set(0);
        self.oldest.set(0);
        self.file_end.set(HEADER_BYTES as u64);
        self.losing.set(false);
        if self.create(header).is_err() {
            self.lose();
        }
    }

    fn create(&self, header: &ThreadHeader) -> Result<(), Errno> {
        // SAFETY: no other reference to the path lives; signals are blocked by the caller.
        let path = unsafe { &mut *self.path.get() };
        path.clear().push(process::directory().unwrap_or_default()).push(b"/thread.");
        path.push_number(u64::from(header.number));
        let file = self.file(libc::O_CREAT | libc::O_TRUNC)?;
        let mapped = file.allocate(0, HEADER_BYTES).and_then(|()| sys::map_file(file, 0, HEADER_BYTES));
        file.close();
        let mapped: *mut ThreadHeader = mapped?.cast();
        // SAFETY: a fresh mapping, page-aligned and larger than a header.
        unsafe { mapped.write(*header) };
        self.header.set(mapped);
        Ok(())
    }

    fn file(&self, flags: i32) -> Result<Fd, Errno> {
        // SAFETY: no other reference to the path lives; signals are blocked by the caller.
        let path = unsafe { &mut *self.path.get() };
        Fd::open(path.terminated().ok_or(Errno(libc::ENAMETOOLONG))?, libc::O_RDWR | flags)
    }

    /// Whether a record still fits the chunk; if not, [`next_chunk`](Self::next_chunk) is due.
    #[inline(always)]
    pub(crate) fn has_room(&self) -> bool {
        self.next.get() < self.end.get()
    }

    /// Writes a record whose further words have a zero top byte. Where it is.
    #[inline(always)]
    pub(crate) fn write<const WORDS: usize>(&self, words: [u64; WORDS]) -> *mut u64 {
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
        // SAFETY: B1: the words lie in a chunk only this thread writes.
        unsafe { fill(at as *mut u64, words) };
        at as *mut u64
    }

    /// Whether `record` is one that was written since `place` was the place of the next.
    #[inline(always)]
    pub(crate) fn is_since(&self, place: *mut u64, record: *mut u64) -> bool {
        (record as usize).wrapping_sub(place as usize) < (self.place() as usize).wrapping_sub(place as usize)
    }

    /// The place of the next record.
    #[inline(always)]
    pub(crate) fn place(&self) -> *mut u64 {
        // Volatile: signal handlers move it.
        // SAFETY: reads a field.
        unsafe { self.next.as_ptr().read_volatile() }
    }

    /// Writes a record if nothing was written since `place` was asked for.
    #[inline(always)]
    pub(crate) fn write_at<const WORDS: usize>(&self, place: *mut u64, words: [u64; WORDS]) -> bool {
        let after = place.wrapping_add(WORDS);
        let seen: *mut u64;
        // SAFETY: moves the cursor, which is this thread's own, in one instruction (B2).
        unsafe {
            asm!(
                "cmpxchg qword ptr [{cursor}], {after}",
                cursor = in(reg) self.next.as_ptr(),
                after = in(reg) after,
                inout("rax") place => seen,
                options(nostack),
            );
        }
        if seen != place {
            return false;
        }
        // SAFETY: B1, as in `write`.
        unsafe { fill(place, words) };
        true
    }

    /// Goes on to a new chunk; `stamp` is that of the last synchronisation record, `unknown` the number of outermost
    /// frames that the caller will not write. Signals are blocked. The caller writes the call stack next.
    pub(crate) fn next_chunk(&self, stamp: u64, unknown: u64) {
        if self.losing.get() {
            self.count_lost();
            self.rewind(self.chunk.get(), self.chunk_bytes.get());
        } else if self.map_next().is_err() {
            self.lose();
        }
        self.write([head(RecordKind::Chunk, 0, unknown), stamp]);
    }

    fn map_next(&self) -> Result<(), Errno> {
        let bytes = chunk_bytes(self.chunk_number.get());
        let file = self.file(0)?;
        self.stay_within_limit(file, bytes);
        let mapped = file
            .allocate(self.file_end.get(), bytes) // B3
            .and_then(|()| sys::map_file(file, self.file_end.get(), bytes));
        file.close();
        self.go_on_to(mapped?, bytes);
        self.file_end.set(self.file_end.get() + bytes as u64);
        self.chunk_number.set(self.chunk_number.get() + 1);
        BYTES_IN_USE.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Gives up this thread's oldest chunks when all threads together have reached the size limit.
    fn stay_within_limit(&self, file: Fd, bytes: usize) {
        let limit = process::size_limit();
        let Some(header) = self.header() else { return };
        while limit != 0
            && BYTES_IN_USE.load(Ordering::Relaxed) + bytes as u64 > limit
            && self.oldest.get() < self.chunk_number.get()
        {
            let oldest = chunk_bytes(self.oldest.get());
            file.punch(header.first_chunk, oldest);
            header.first_chunk += oldest as u64;
            header.dropped_bytes += oldest as u64;
            self.oldest.set(self.oldest.get() + 1);
            BYTES_IN_USE.fetch_sub(oldest as u64, Ordering::Relaxed);
        }
    }

    /// From now on records go nowhere and are counted.
    fn lose(&self) {
        static LAST_RESORT: Scratch = Scratch([const { Cell::new(0) }; SCRATCH_WORDS]);
        self.losing.set(true);
        let (chunk, bytes) = match sys::map_private(LOSING_BYTES) {
            Ok(chunk) => (chunk, LOSING_BYTES),
            // No memory at all: all threads scribble over one page that nobody reads.
            Err(_) => (LAST_RESORT.0.as_ptr() as *mut u8, SCRATCH_WORDS * 8),
        };
        process::note_loss();
        self.go_on_to(chunk, bytes);
    }

    fn count_lost(&self) {
        let written = self.next.get() as usize - self.chunk.get() as usize;
        if let Some(header) = self.header() {
            header.lost_bytes += written as u64;
        }
    }

    fn go_on_to(&self, chunk: *mut u8, bytes: usize) {
        self.unmap_previous();
        self.previous.set(self.chunk.replace(chunk)); // B4
        self.previous_bytes.set(self.chunk_bytes.replace(bytes));
        self.rewind(chunk, bytes);
    }

    fn rewind(&self, chunk: *mut u8, bytes: usize) {
        self.next.set(chunk.cast());
        self.end.set(chunk.wrapping_add(bytes - SLACK_BYTES).cast());
    }

    fn unmap_previous(&self) {
        let previous = self.previous.replace(core::ptr::null_mut());
        if !previous.is_null() {
            // SAFETY: B4: only this thread knew the chunk, and left it one chunk ago.
            unsafe { sys::unmap(previous, self.previous_bytes.get()) };
        }
    }

    /// The header at the front of the file, to update.
    #[allow(clippy::mut_from_ref, reason = "one thread, no reference kept across calls")]
    pub(crate) fn header(&self) -> Option<&mut ThreadHeader> {
        // SAFETY: mapped for as long as the thread lives, written by this thread only.
        unsafe { self.header.get().as_mut() }
    }

    /// Gives back what the file does not need and unmaps everything. No record may be written afterwards.
    pub(crate) fn close(&self) {
        if self.losing.get() {
            self.count_lost();
        } else if let Ok(file) = self.file(0) {
            let unused = (self.end.get() as u64 + SLACK_BYTES as u64).saturating_sub(self.next.get() as u64);
            file.truncate(self.file_end.get() - unused);
            file.close();
            BYTES_IN_USE.fetch_sub(unused, Ordering::Relaxed);
        }
        self.abandon();
    }

    /// Unmaps everything and leaves the file as it is; in a child process it is the parent's.
    pub(crate) fn abandon(&self) {
        self.unmap_previous();
        self.previous.set(self.chunk.replace(core::ptr::null_mut()));
        self.previous_bytes.set(self.chunk_bytes.get());
        self.unmap_previous();
        let header = self.header.replace(core::ptr::null_mut());
        if !header.is_null() {
            // SAFETY: no reference to the header is kept.
            unsafe { sys::unmap(header.cast(), HEADER_BYTES) };
        }
    }
}

/// In a child process after `fork`: nothing is in use yet.
pub(crate) fn restart_after_fork() {
    BYTES_IN_USE.store(0, Ordering::Relaxed);
}

/// Fills the words of a record, last word first, so that a record whose first word is there is complete.
///
/// # Safety
/// The words must have been reserved by this thread.
#[inline(always)]
unsafe fn fill<const WORDS: usize>(place: *mut u64, words: [u64; WORDS]) {
    let mut number = WORDS;
    while number > 0 {
        number -= 1;
        // SAFETY: the caller's promise. Volatile keeps the order.
        unsafe { place.add(number).write_volatile(words[number]) };
    }
}

const SCRATCH_WORDS: usize = 1024;
struct Scratch([Cell<u64>; SCRATCH_WORDS]);
// SAFETY: written without order and never read.
unsafe impl Sync for Scratch {}

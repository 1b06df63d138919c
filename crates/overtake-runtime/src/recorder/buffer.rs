//! Where a thread's records go: into a small part of its file that is mapped, the tail, and from there behind the chunks that are
//! full.
//!
//! A tail is used over and over: its pages are there, and in the cache. Mapping each chunk afresh instead costs 4 microseconds
//! a page on ext4, copying it behind the others with `pwrite` 1.3.
//!
//! **Invariants.**
//!   B1  `next <= end` but for records on their way, both in a mapped tail that only this thread writes, with
//!       [`SLACK_BYTES`] mapped behind `end`.
//!   B2  A record's words are filled, the first one last, before the cursor moves over them by one instruction. A signal handler
//!       of the same thread that comes before that records over them, and they are written again (`detour`).
//!   B3  The room of a tail is reserved in the file before the tail is mapped, so that filling it cannot fault on a full disk.
//!   B4  Tails change with signals blocked, and alternate. Words behind the cursor that may be there (B2) are cleared before.
//!   B5  No file stays open: 5,000 threads would exceed the usual limit, and programs close descriptors they do not know.
//!   B6  A tail other than the current one never starts with the number of the chunk that comes next.
//!
//! When there is no room, records go to a private tail that is used over and over, and their bytes are counted as lost.

use core::cell::{Cell, UnsafeCell};
use core::sync::atomic::{AtomicU64, Ordering};

use overtake_rawlog::{
    CHUNKS_AT, HEADER_BYTES, RecordKind, SMALL_CHUNKS, TAILS, ThreadHeader, chunk_bytes, head,
};

use crate::detour::{Detour, here, labels};
use crate::process;
use crate::sys::{self, Errno, Fd};
use crate::text::Text;

/// Room behind `end`. A thread checks for room before each record; when signal handlers interrupt each other between check
/// and record, each of them may still add a record and two pushes: 48 bytes.
const SLACK_BYTES: usize = 1024;
/// Enough for the records of a short critical section.
const MUCH_ROOM_BYTES: usize = 1024;
/// Size of the private tail for records that are lost.
const LOSING_BYTES: usize = 16 * 1024;

/// Bytes of chunks and tails that all threads have in their files.
static BYTES_IN_USE: AtomicU64 = AtomicU64::new(0);

/// All zeros is a valid buffer that has not been opened.
pub(crate) struct Buffer {
    next: Cell<*mut u64>,
    end: Cell<*mut u64>,
    /// The tail in use.
    tail: Cell<*mut u8>,
    tail_bytes: Cell<usize>,
    /// The pairs of tails that are mapped: small and large.
    pairs: [Cell<*mut u8>; 2],
    /// Number of the chunk in the tail.
    chunk: Cell<u64>,
    /// Number of the oldest chunk that has not been given up.
    oldest: Cell<u64>,
    /// Records are not going to the file.
    losing: Cell<bool>,
    header: Cell<*mut ThreadHeader>,
    path: UnsafeCell<Text>,
}

/// Where the hooks for accesses find the cursor and its limit, see `abi::access`.
pub(crate) const CURSOR: usize = core::mem::offset_of!(Buffer, next);
pub(crate) const END: usize = core::mem::offset_of!(Buffer, end);

/// Where each pair of tails is in the file, and its size.
const PAIRS: [(u64, usize); 2] = [(TAILS[0].0 as u64, 2 * TAILS[0].1), (TAILS[2].0 as u64, 2 * TAILS[2].1)];

impl Buffer {
    /// Creates the file, writes its header and starts the first chunk. Without a file, everything is lost. Signals are
    /// blocked.
    pub(crate) fn open(&self, header: &ThreadHeader) {
        self.chunk.set(0);
        self.oldest.set(0);
        self.losing.set(false);
        if self.create(header).and_then(|()| self.map_pair(0)).is_ok() {
            self.use_tail();
        } else {
            self.lose();
        }
    }

    /// Records stay in memory, as far as there is room; for tests.
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
        unsafe { core::slice::from_raw_parts(self.tail.get(), self.used()) }
    }

    /// Nothing is ever written: there is always room.
    pub(crate) fn open_nowhere(&self) {
        self.next.set(core::ptr::null_mut());
        self.end.set(core::ptr::without_provenance_mut(usize::MAX));
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

    fn map_pair(&self, pair: usize) -> Result<(), Errno> {
        let (offset, bytes) = PAIRS[pair];
        let file = self.file(0)?;
        let mapped = file.allocate(offset, bytes).and_then(|()| sys::map_file(file, offset, bytes)); // B3
        file.close();
        self.pairs[pair].set(mapped?);
        BYTES_IN_USE.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    fn file(&self, flags: i32) -> Result<Fd, Errno> {
        // SAFETY: no other reference to the path lives; signals are blocked by the caller.
        let path = unsafe { &mut *self.path.get() };
        Fd::open(path.terminated().ok_or(Errno(libc::ENAMETOOLONG))?, libc::O_RDWR | flags)
    }

    /// Whether a record still fits the tail; if not, [`next_chunk`](Self::next_chunk) is due.
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
        // Volatile: signal handlers may go on to another tail.
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

    /// Writes a record if nothing was written since `place` was asked for. False if it has to be written again.
    #[inline(always)]
    pub(crate) fn write_at<const WORDS: usize>(&self, place: *mut u64, words: [u64; WORDS]) -> bool {
        let word = |number: usize| words.get(number).copied().unwrap_or(0);
        let append = const { APPEND[WORDS - 1] };
        // SAFETY: the cursor is this thread's own; it is a place in a tail with room for a record (B1).
        unsafe { append(self.next.as_ptr(), place, word(0), word(1), word(2), word(3)) }
    }

    /// Goes on to a new chunk. Signals are blocked. The caller starts it with [`start_chunk`](Self::start_chunk).
    pub(crate) fn next_chunk(&self) {
        if self.losing.get() {
            self.count_lost();
            self.rewind();
        } else if self.seal(self.tail_bytes.get()).and_then(|()| self.map_large()).is_ok() {
            self.chunk.set(self.chunk.get() + 1);
            self.use_tail();
        } else {
            self.lose();
        }
    }

    /// Starts a chunk: `stamp` is not later than those that follow, `unknown` the number of outermost frames that
    /// the caller will not write. The caller writes the call stack next.
    pub(crate) fn start_chunk(&self, stamp: u64, unknown: u64) {
        self.write([head(RecordKind::Chunk, 0, unknown), stamp, self.chunk.get()]);
    }

    /// Copies the tail's first bytes behind the chunks.
    fn seal(&self, bytes: usize) -> Result<(), Errno> {
        let header = self.header().ok_or(Errno(libc::EBADF))?;
        let file = self.file(0)?;
        self.clear_unwritten();
        self.stay_within_limit(file, bytes);
        // SAFETY: the tail is mapped and has so many bytes.
        let written = unsafe { file.write_at(self.tail.get(), bytes, header.chunks_end) };
        file.close();
        written?;
        header.chunks_end += bytes as u64;
        BYTES_IN_USE.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Clears words behind the cursor, which somebody may have been about to write (B4).
    fn clear_unwritten(&self) {
        for number in 0..MOST_WORDS {
            // SAFETY: B1: there is room for several records behind `end`.
            unsafe { self.next.get().add(number).write(0) };
        }
    }

    /// Threads that record much get larger tails.
    fn map_large(&self) -> Result<(), Errno> {
        if self.chunk.get() + 1 == SMALL_CHUNKS { self.map_pair(1) } else { Ok(()) }
    }

    /// Empties the tail of the current chunk and makes it the one in use.
    fn use_tail(&self) {
        let chunk = self.chunk.get();
        let bytes = chunk_bytes(chunk);
        let pair = usize::from(chunk >= SMALL_CHUNKS);
        let tail = self.pairs[pair].get().wrapping_add(chunk as usize % 2 * bytes);
        // SAFETY: within the pair, which only this thread knows. From the front: B6.
        unsafe { sys::clear(tail, bytes) };
        self.tail.set(tail);
        self.tail_bytes.set(bytes);
        self.rewind();
    }

    /// Gives up this thread's oldest chunks when all threads together have reached the size limit.
    fn stay_within_limit(&self, file: Fd, bytes: usize) {
        let limit = process::size_limit();
        let Some(header) = self.header() else { return };
        while limit != 0
            && BYTES_IN_USE.load(Ordering::Relaxed) + bytes as u64 > limit
            && self.oldest.get() < self.chunk.get()
        {
            let oldest = chunk_bytes(self.oldest.get());
            file.punch(header.first_chunk, oldest);
            header.first_chunk += oldest as u64;
            header.dropped_bytes += oldest as u64;
            self.oldest.set(self.oldest.get() + 1);
            BYTES_IN_USE.fetch_sub(oldest as u64, Ordering::Relaxed);
        }
    }

    /// From now on records go nowhere and are counted. The last tail stays as it is.
    fn lose(&self) {
        static LAST_RESORT: Scratch = Scratch([const { Cell::new(0) }; SCRATCH_WORDS]);
        self.losing.set(true);
        let (tail, bytes) = match sys::map_private(LOSING_BYTES) {
            Ok(tail) => (tail, LOSING_BYTES),
            // No memory at all: all threads scribble over one page that nobody reads.
            Err(_) => (LAST_RESORT.0.as_ptr() as *mut u8, SCRATCH_WORDS * 8),
        };
        process::note_loss();
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
        self.next.get() as usize - self.tail.get() as usize
    }

    fn rewind(&self) {
        self.next.set(self.tail.get().cast());
        self.end.set(self.tail.get().wrapping_add(self.tail_bytes.get() - SLACK_BYTES).cast());
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
        } else if self.chunk.get() >= SMALL_CHUNKS && self.seal(self.used()).is_ok() {
            self.give_back_tails();
        }
        self.abandon();
    }

    /// All records are in chunks now.
    fn give_back_tails(&self) {
        let Ok(file) = self.file(0) else { return };
        file.punch(HEADER_BYTES as u64, (CHUNKS_AT - HEADER_BYTES as u64) as usize);
        file.close();
        let bytes: usize = PAIRS.iter().map(|(_, bytes)| bytes).sum();
        BYTES_IN_USE.fetch_sub(bytes as u64, Ordering::Relaxed);
    }

    /// Unmaps everything and leaves the file as it is; in a child process it is the parent's.
    pub(crate) fn abandon(&self) {
        for (pair, (_, bytes)) in self.pairs.iter().zip(PAIRS) {
            let pair = pair.replace(core::ptr::null_mut());
            if !pair.is_null() {
                // SAFETY: only this thread knew the tails, and is over or about to be given others.
                unsafe { sys::unmap(pair, bytes) };
            }
        }
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

/// Words of the longest record.
const MOST_WORDS: usize = 4;

/// Takes the cursor, where it is thought to be, and the words.
type Append = unsafe extern "C" fn(*mut *mut u64, *mut u64, u64, u64, u64, u64) -> bool;

/// Functions that write a record of so many words to `place`, if that is where the cursor is, and move the cursor. False if not,
/// or if a signal handler came in between.
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

        /// By number of words, less one.
        const APPEND: [Append; MOST_WORDS] = [$({
            unsafe extern "C" {
                #[link_name = concat!("overtake_append", $words)]
                fn append(cursor: *mut *mut u64, place: *mut u64, a: u64, b: u64, c: u64, d: u64) -> bool;
            }
            append
        },)*];

        /// Where threads go on that a signal handler interrupted in one of these functions.
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

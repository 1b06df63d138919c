//! The log file of the process: one for all threads, opened once.
//!
//! Its layout is that of `overtake_rawlog`'s pieces. While they run, threads make one system call, a `pwrite`, for each full chunk. New
//! threads take the slots of ended ones, so that starting a thread needs no system call.
//!
//! **Invariants.**
//!   L1  The descriptor stays open, with a high number: opening by path fails after `setuid`, `chroot` and the like. Hooks keep the program
//!       from closing it. If it is closed nevertheless, its number may refer to a file of the program, so each use checks that it is
//!       still our file, and otherwise opens the file by its path.
//!   L2  Room is reserved in the file before it is mapped, so that filling it cannot fault on a full disk.
//!   L3  A slot in the list of free slots has no thread header. It stays mapped: a thread that takes a slot may read the link of a slot
//!       that another thread has just taken.
//!   L4  The position of the next piece is in the file itself, shared with child processes: a child that gets no log notes it in its
//!       parent's.
//!   L5  Before the program forbids us to write or to map (`sandbox`, `setrlimit`), a reserve is mapped. From then on pieces go there,
//!       without a system call.
//!   L6  Without a size limit, chunks are written until the file has half of the room that was free on the disk at the start: the program,
//!       and who reads the log, need the rest.

use core::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{
    FILE_MAGIC, FileHeader, LARGE_TAIL_BYTES, LOG_IS_FULL, PAGE_BYTES, PIECE_HEADER_BYTES, PIECE_MAGIC,
    PieceHeader, PieceKind, SMALL_TAIL_BYTES,
};

use crate::process;
use crate::sandbox;
use crate::sys::{self, Errno, Fd};
use crate::text::Text;

/// The descriptor; negative if there is none.
static FILE: AtomicI32 = AtomicI32::new(-1);
/// A number that identifies the file.
static IDENTITY: AtomicU64 = AtomicU64::new(0);
/// The first page of the file, mapped.
static HEADER: AtomicPtr<Shared> = AtomicPtr::new(core::ptr::null_mut());

/// Pieces before this offset were dropped, except those that are mapped.
static OLDEST: AtomicU64 = AtomicU64::new(PAGE_BYTES as u64);
/// Bytes that the file may have if there is no size limit. (L6)
static SHARE: AtomicU64 = AtomicU64::new(u64::MAX);
/// Bytes of the file that were freed.
static GIVEN_BACK: AtomicU64 = AtomicU64::new(0);
static IS_GIVING_BACK: AtomicBool = AtomicBool::new(false);

static SLOTS: FreeList = FreeList(AtomicU64::new(0));
static LARGE: FreeList = FreeList(AtomicU64::new(0));

/// [`FileHeader`], as threads and child processes change it.
#[repr(C)]
struct Shared {
    magic: u64,
    end: AtomicU64,
    dropped_bytes: AtomicU64,
    loss: AtomicU64,
}

const _: () = assert!(size_of::<Shared>() == size_of::<FileHeader>());

fn header() -> Option<&'static Shared> {
    // SAFETY: mapped by `open` for as long as the process lives.
    unsafe { HEADER.load(Ordering::Acquire).as_ref() }
}

/// The open log file. It is closed after use unless it is the descriptor that stays open.
struct Opened {
    file: Fd,
    is_kept: bool,
}

impl Drop for Opened {
    fn drop(&mut self) {
        if !self.is_kept {
            self.file.close();
        }
    }
}

/// Opens the file by its path.
fn open_path(flags: i32) -> Result<Fd, Errno> {
    let mut path = Text::new();
    path.push(process::directory().unwrap_or_default()).push(b"/threads");
    Fd::open(path.terminated().ok_or(Errno(libc::ENAMETOOLONG))?, libc::O_RDWR | flags)
}

fn file() -> Result<Opened, Errno> {
    let kept = Fd(FILE.load(Ordering::Relaxed));
    let cannot_ask = sandbox::forbids(libc::SYS_fstat);
    if cannot_ask || kept.identity().is_some_and(|now| now.as_number() == IDENTITY.load(Ordering::Relaxed)) {
        return Ok(Opened { file: kept, is_kept: true });
    }
    Ok(Opened { file: open_path(0)?, is_kept: false }) // L1
}

/// Creates the file in the directory of the process.
pub(crate) fn open() -> Result<(), Errno> {
    let file = open_path(libc::O_CREAT | libc::O_EXCL)?;
    SHARE.store(file.free_bytes().map_or(u64::MAX, |free| free / 2), Ordering::Relaxed);
    let mapped = file.allocate(0, PAGE_BYTES).and_then(|()| sys::map_file(file, 0, PAGE_BYTES));
    let mapped: *mut Shared = match mapped {
        Ok(mapped) => mapped.cast(),
        Err(error) => {
            file.close();
            return Err(error);
        }
    };
    let new = Shared {
        magic: FILE_MAGIC,
        end: AtomicU64::new(PAGE_BYTES as u64),
        dropped_bytes: AtomicU64::new(0),
        loss: AtomicU64::new(0),
    };
    // SAFETY: a fresh mapping, page-aligned and larger than a header.
    unsafe { mapped.write(new) };
    HEADER.store(mapped, Ordering::Release);
    OLDEST.store(PAGE_BYTES as u64, Ordering::Relaxed);
    GIVEN_BACK.store(0, Ordering::Relaxed);
    SLOTS.clear();
    LARGE.clear();
    keep(file);
    if sandbox::is_filtered() {
        prepare_reserve();
    }
    Ok(())
}

/// Threads that are writing a chunk, and whether the log is closed.
static WRITING: AtomicU32 = AtomicU32::new(0);
static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// While it exists, the calling thread may write chunks.
pub(crate) struct Writing(());

impl Writing {
    /// Returns none if the log is closed.
    pub(crate) fn begin() -> Option<Writing> {
        // Before the flag is read: `close` sets the flag before it reads the number of writers.
        WRITING.fetch_add(1, Ordering::SeqCst);
        let writing = Writing(());
        (!IS_CLOSED.load(Ordering::SeqCst)).then_some(writing)
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        WRITING.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The log is about to be read, while other threads go on: from now on nobody adds a chunk. Threads fill the tails that they have.
pub(crate) fn close() {
    const MILLISECOND: i64 = 1_000_000;
    /// A thread that is killed in the middle of a chunk never ends it.
    const LONGEST_WAIT_MILLISECONDS: usize = 1000;
    IS_CLOSED.store(true, Ordering::SeqCst);
    for _ in 0..LONGEST_WAIT_MILLISECONDS {
        let writing = WRITING.load(Ordering::SeqCst);
        if writing == 0 {
            return;
        }
        sys::wait_briefly(WRITING.as_ptr(), writing, MILLISECOND);
    }
}

/// In a child process, before it has a file of its own: forgets the reserve, which belongs to the parent, and the parent's other threads.
pub(crate) fn abandon() {
    WRITING.store(0, Ordering::Relaxed);
    IS_CLOSED.store(false, Ordering::Relaxed);
    RESERVE.mapped.store(core::ptr::null_mut(), Ordering::Relaxed);
    RESERVE.is_prepared.store(false, Ordering::Relaxed);
}

/// Gives the file a descriptor that programs do not use, and closes the old one, which belonged to the parent's log.
fn keep(file: Fd) {
    let identity = file.identity().map_or(0, sys::Identity::as_number);
    let kept = file.duplicate_high();
    file.close();
    let before = Fd(FILE.swap(kept.map_or(-1, |kept| kept.0), Ordering::Relaxed));
    let was = IDENTITY.swap(identity, Ordering::Relaxed);
    if before.0 >= 0 && before.identity().is_some_and(|now| now.as_number() == was) {
        before.close();
    }
}

/// Whether a descriptor is that of the log file.
pub(crate) fn is_ours(file: i32) -> bool {
    file >= 0 && file == FILE.load(Ordering::Relaxed)
}

/// The descriptor of the log file, if it is in this range.
pub(crate) fn descriptor_in(first: u32, last: u32) -> Option<u32> {
    let ours = u32::try_from(FILE.load(Ordering::Relaxed)).ok()?;
    (first..=last).contains(&ours).then_some(ours)
}

/// The program is about to use a number for a descriptor of its own. If the log file has this number, it gets another.
pub(crate) fn make_way(number: i32) {
    if is_ours(number)
        && Fd(number).identity().is_some_and(|now| now.as_number() == IDENTITY.load(Ordering::Relaxed))
    {
        let moved = Fd(number).duplicate_high().map_or(-1, |moved| moved.0);
        FILE.store(moved, Ordering::Relaxed);
    }
}

/// Reserves room behind the other pieces.
fn reserve(bytes: u64, alignment: u64) -> Result<u64, Errno> {
    let header = header().ok_or(Errno(libc::EBADF))?;
    let mut end = header.end.load(Ordering::Relaxed);
    loop {
        let at = end.next_multiple_of(alignment);
        match header.end.compare_exchange_weak(end, at + bytes, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return Ok(at),
            Err(seen) => end = seen,
        }
    }
}

/// Reserves room and allocates it on the disk. (L2)
fn allocate(opened: &Opened, bytes: u64) -> Result<u64, Errno> {
    let at = reserve(bytes, PAGE_BYTES as u64)?;
    let allocated = opened.file.allocate(at, bytes as usize);
    if allocated.is_err()
        && let Some(header) = header()
    {
        // Returns the room, unless others have reserved room behind it.
        let _ = header.end.compare_exchange(at + bytes, at, Ordering::Relaxed, Ordering::Relaxed);
    }
    allocated.map(|()| at)
}

/// Maps a part of the file in advance, as large as possible. (L5)
pub(crate) fn prepare_reserve() {
    if header().is_none() || RESERVE.is_prepared.swap(true, Ordering::Relaxed) {
        return;
    }
    for bytes in [64 << 20, 16 << 20, 4 << 20, 1 << 20] {
        let prepared = file().and_then(|opened| {
            let at = allocate(&opened, bytes)?;
            Ok((at, sys::map_file_slowly(opened.file, at, bytes as usize)?))
        });
        if let Ok((at, mapped)) = prepared {
            RESERVE.at.store(at, Ordering::Relaxed);
            RESERVE.bytes.store(bytes, Ordering::Relaxed);
            RESERVE.used.store(0, Ordering::Relaxed);
            return RESERVE.mapped.store(mapped, Ordering::Release);
        }
    }
}

/// A part of the file that was mapped in advance.
struct Reserve {
    is_prepared: AtomicBool,
    mapped: AtomicPtr<u8>,
    at: AtomicU64,
    bytes: AtomicU64,
    used: AtomicU64,
}

static RESERVE: Reserve = Reserve {
    is_prepared: AtomicBool::new(false),
    mapped: AtomicPtr::new(core::ptr::null_mut()),
    at: AtomicU64::new(0),
    bytes: AtomicU64::new(0),
    used: AtomicU64::new(0),
};

impl Reserve {
    /// Takes room. Returns where it is mapped, and where it is in the file; `None` if there is not enough.
    fn take(&self, bytes: u64, alignment: u64) -> Option<(*mut u8, u64)> {
        let mapped = self.mapped.load(Ordering::Acquire);
        if mapped.is_null() {
            return None;
        }
        let room = |used: u64| {
            let end = used.next_multiple_of(alignment) + bytes;
            (end <= self.bytes.load(Ordering::Relaxed)).then_some(end)
        };
        let before = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).ok()?;
        let start = before.next_multiple_of(alignment);
        Some((mapped.wrapping_add(start as usize), self.at.load(Ordering::Relaxed) + start))
    }

    /// Puts a piece into the reserve, its header last. False if there is no room.
    fn put(&self, header: &PieceHeader, bytes: &[u8]) -> bool {
        let Some((to, _)) = self.take(header.size(), 8) else { return false };
        // SAFETY: fresh room of this size.
        unsafe {
            sys::copy(bytes.as_ptr(), to.wrapping_add(PIECE_HEADER_BYTES), bytes.len());
            to.cast::<PieceHeader>().write(*header);
        }
        true
    }
}

/// Takes a slot that no thread uses.
pub(crate) fn take_slot() -> Result<*mut u8, Errno> {
    SLOTS.take().map_or_else(|| map_new(PieceKind::Slot, PAGE_BYTES + 2 * SMALL_TAIL_BYTES), Ok)
}

/// Takes a pair of large tails that no thread uses, behind a page.
pub(crate) fn take_large() -> Result<*mut u8, Errno> {
    LARGE.take().map_or_else(|| map_new(PieceKind::Large, PAGE_BYTES + 2 * LARGE_TAIL_BYTES), Ok)
}

/// # Safety
/// A slot that nobody uses any more, without a thread header (L3).
pub(crate) unsafe fn give_slot_back(slot: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { SLOTS.give_back(slot) };
}

/// # Safety
/// As above, of large tails.
pub(crate) unsafe fn give_large_back(large: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { LARGE.give_back(large) };
}

/// Where a slot or a large piece is in the file.
///
/// # Safety
/// One of those that were taken.
pub(crate) unsafe fn offset_of(piece: *mut u8) -> u64 {
    // SAFETY: `map_new` wrote a header.
    unsafe { (*piece.cast::<PieceHeader>()).number }
}

fn map_new(kind: PieceKind, bytes: usize) -> Result<*mut u8, Errno> {
    let (mapped, at) = match RESERVE.take(bytes as u64, PAGE_BYTES as u64) {
        Some(taken) => taken,
        None => {
            let opened = file()?;
            let at = allocate(&opened, bytes as u64)?;
            (sys::map_file(opened.file, at, bytes)?, at)
        }
    };
    let header = new_header(kind, 0, at, bytes - PIECE_HEADER_BYTES);
    // SAFETY: a fresh mapping, page-aligned and larger than a header.
    unsafe { mapped.cast::<PieceHeader>().write(header) };
    Ok(mapped)
}

/// Writes a piece that is in memory, behind a header without a checksum. This fills the header and leaves it so: readers that find it in
/// a tail, because the process died here, understand it.
///
/// # Safety
/// The piece must be in memory that belongs to this thread.
pub(crate) unsafe fn write(piece: *mut PieceHeader) -> Result<(), Errno> {
    // SAFETY: the caller's promise.
    let (header, bytes) = unsafe {
        let header = &mut *piece;
        (header, core::slice::from_raw_parts(piece.wrapping_add(1).cast::<u8>(), (*piece).bytes as usize))
    };
    header.checksum = header.sum(bytes);
    if RESERVE.put(header, bytes) {
        return Ok(());
    }
    let opened = file()?;
    stay_within_limit(&opened, header.size())?;
    let at = reserve(header.size(), 8)?;
    // SAFETY: the caller's promise, for the header and the bytes behind it.
    unsafe { opened.file.write_at(piece.cast(), PIECE_HEADER_BYTES + bytes.len(), at) }
}

/// Writes bytes as a piece.
pub(crate) fn append(kind: PieceKind, number: u64, bytes: &[u8]) -> Result<(), Errno> {
    let mut header = new_header(kind, 0, number, bytes.len());
    header.checksum = header.sum(bytes);
    if RESERVE.put(&header, bytes) {
        return Ok(());
    }
    let opened = file()?;
    let at = reserve(header.size(), 8)?;
    // SAFETY: both are in memory.
    unsafe {
        opened.file.write_at((&raw const header).cast(), PIECE_HEADER_BYTES, at)?;
        opened.file.write_at(bytes.as_ptr(), bytes.len(), at + PIECE_HEADER_BYTES as u64)
    }
}

/// A header without a checksum.
pub(crate) fn new_header(kind: PieceKind, thread: u32, number: u64, bytes: usize) -> PieceHeader {
    PieceHeader { magic: PIECE_MAGIC, kind: kind as u32, thread, number, bytes: bytes as u64, checksum: 0 }
}

/// Something could not be written. The first reason is kept.
pub(crate) fn note_loss(reason: Errno) {
    if let Some(header) = header() {
        let _ = header.loss.compare_exchange(0, reason.0 as u64, Ordering::Relaxed, Ordering::Relaxed);
    }
}

/// Drops the oldest pieces if the file would exceed its limit. Fails if there is no limit, and the file would exceed its share. (L6)
fn stay_within_limit(opened: &Opened, more: u64) -> Result<(), Errno> {
    let limit = process::size_limit();
    let Some(header) = header() else { return Ok(()) };
    if limit == 0 {
        let fits = header.end.load(Ordering::Relaxed) + more <= SHARE.load(Ordering::Relaxed);
        return if fits { Ok(()) } else { Err(Errno(LOG_IS_FULL)) };
    }
    while header.end.load(Ordering::Relaxed) - GIVEN_BACK.load(Ordering::Relaxed) + more > limit {
        if IS_GIVING_BACK.swap(true, Ordering::Acquire) {
            break; // another thread does it
        }
        let given = give_oldest_back(opened, header);
        IS_GIVING_BACK.store(false, Ordering::Release);
        if !given {
            break;
        }
    }
    Ok(())
}

/// Frees the room of the oldest piece, or skips the piece if it is mapped. False if there is none.
fn give_oldest_back(opened: &Opened, shared: &Shared) -> bool {
    let at = OLDEST.load(Ordering::Relaxed);
    let mut words = [0_u8; PIECE_HEADER_BYTES];
    if !opened.file.read_at(&mut words, at) || at >= shared.end.load(Ordering::Relaxed) {
        return false;
    }
    let Some(piece) = PieceHeader::read(&words) else {
        // Unused room before a page, or a piece that is being written.
        let page = (at + 1).next_multiple_of(PAGE_BYTES as u64);
        return match opened.file.read_at(&mut words, page) && PieceHeader::read(&words).is_some() {
            true => {
                OLDEST.store(page, Ordering::Relaxed);
                true
            }
            false => false,
        };
    };
    if matches!(piece.kind(), Some(PieceKind::Chunk | PieceKind::Last)) {
        opened.file.punch(at, piece.size() as usize);
        GIVEN_BACK.fetch_add(piece.size(), Ordering::Relaxed);
        shared.dropped_bytes.fetch_add(piece.size(), Ordering::Relaxed);
    }
    OLDEST.store(at + piece.size(), Ordering::Relaxed);
    true
}

/// Mapped pieces that no thread uses, linked by a word in their first page. The head of the list is the page number of the first piece,
/// with a count of changes above it. The count shows that a piece was taken and returned in the meantime.
struct FreeList(AtomicU64);

const PAGE_NUMBER_BITS: u32 = 36;
const PAGE_NUMBERS: u64 = (1 << PAGE_NUMBER_BITS) - 1;
/// Where in a piece the link to the next free one is.
const LINK_AT: usize = 1024;

impl FreeList {
    fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    fn link(piece: *mut u8) -> &'static AtomicU64 {
        // SAFETY: pieces stay mapped (L3); the link is in their first page, aligned.
        unsafe { AtomicU64::from_ptr(piece.wrapping_add(LINK_AT).cast()) }
    }

    fn take(&self) -> Option<*mut u8> {
        let mut head = self.0.load(Ordering::Acquire);
        loop {
            let page = head & PAGE_NUMBERS;
            if page == 0 {
                return None;
            }
            let piece = (page as usize * PAGE_BYTES) as *mut u8;
            let next = Self::link(piece).load(Ordering::Relaxed) & PAGE_NUMBERS;
            match self.change(head, next) {
                Ok(()) => return Some(piece),
                Err(seen) => head = seen,
            }
        }
    }

    /// # Safety
    /// A piece of this list that nobody uses any more.
    unsafe fn give_back(&self, piece: *mut u8) {
        let mut head = self.0.load(Ordering::Acquire);
        loop {
            Self::link(piece).store(head & PAGE_NUMBERS, Ordering::Relaxed);
            match self.change(head, (piece as usize / PAGE_BYTES) as u64) {
                Ok(()) => return,
                Err(seen) => head = seen,
            }
        }
    }

    fn change(&self, head: u64, page: u64) -> Result<(), u64> {
        let count = (head >> PAGE_NUMBER_BITS).wrapping_add(1) << PAGE_NUMBER_BITS;
        self.0.compare_exchange_weak(head, count | page, Ordering::AcqRel, Ordering::Acquire).map(|_| ())
    }
}

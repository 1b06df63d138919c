//! Layout of the raw logs that an instrumented program writes and that sealing reads.
//!
//! One directory per process, named `overtake.<random>.<pid>.<stamp>`, which only its owner may enter. In it:
//!
//! - `process`: lines `key value`, see [`process_keys`]; if a key occurs twice, the last line counts;
//! - `cmdline`: the arguments, each followed by a zero byte, as the kernel gives them;
//! - `options`, `suppressions`: what the program's own `__tsan_default_options` and `__tsan_default_suppressions` returned,
//!   if it defines them; `options` has a second line with the value of `TSAN_OPTIONS`;
//! - `threads`: the log file (`piece`), with the records of all threads, memory maps, and further lines of the `process` file. A memory
//!   map is written at the start, some time after modules were loaded, before one is unloaded, and at the end, each after a line
//!   `stamp <n>`. Threads are numbered from 0 in order of creation. A number may be missing (the thread never started).
//!
//! There is one log file, which is opened once: a process may lose the right to open files (`setuid`, `chroot`, a sandbox), or have more
//! threads than it may open files.
//!
//! A record is one to four 64-bit words; the first has its [`RecordKind`] in the top byte, every other word has a zero top byte. A
//! thread reserves the words of a record before it fills them, and fills the first word last: at whatever moment the process
//! dies, a reader that skips words with a zero top byte finds every complete record and nothing else
//! ([`Records`]). A signal handler's records lie between those of the code it interrupted, and belong to the same thread.
//!
//! **Brief records.** The most frequent records have a shorter form, in which a number of 8 bits stands for the program counter:
//! that of the last [`RecordKind::Place`] with this number in the same chunk. [`Decoder`] turns them into the long form,
//! so that readers need not know of them. Their first words have codes from [`BRIEF`] on ([`brief_access`], [`brief_run`],
//! [`BRIEF_ACQUIRE`], [`BRIEF_RELEASE`], [`BRIEF_ACQUIRE_AGAIN`]), the number of the place as extra byte and the address as value.
//!
//! **Call stacks.** A chunk starts with a [`RecordKind::Chunk`] record followed by the thread's call stack, so that it can be
//! read without the chunks before it. [`RecordKind::Push`] and [`RecordKind::Cut`] say at which depth they apply, so that a frame
//! that is written twice does no harm ([`push_depth`]). Each record has the call stack that was written last before it.
//!
//! **Order.** Accesses carry no time. A synchronisation record carries a stamp. The stamps of one thread never decrease, and the
//! stamps of operations on one object are in the order in which the operations took effect. For this, the stamp of a lock operation
//! is taken while the lock is held (after the acquire, before the release), an atomic operation and its stamp are one step, a
//! [`RecordKind::Post`] and the like are stamped before others can see their effect, a [`RecordKind::Wait`] and the like afterwards.
//! A release by the thread that holds the lock needs no stamp of its own, because the next acquire has one. Nor does an acquire by
//! the thread that had the lock last, because no other thread's operation on it lies between. Such records have the stamp
//! of the record before in the thread.
//!
//! **Coalescing.** Unless the `process` file says `exact 1`, an access is left out if the same thread already recorded one of
//! the same kind (or a write, for a read) to the same bytes since its last synchronisation record, allocation or release of that
//! memory. Accesses by one instruction with one call stack at equal distances may share a record, a *run* ([`split_run`]): each
//! happened somewhere between the run and the next synchronisation record, allocation or release, and no record of the thread
//! in between writes its bytes, or for a write, accesses them. Bytes that were written again after their recorded write have a
//! [`RecordKind::WriteAgain`] before that next record.
//!
//! **What a reader must expect.** Releases without an acquire (it came before a `fork`, or was dropped with its
//! chunk); acquires without a release (the owner or the process ended); recursive acquires; memory that no record allocated;
//! threads without end; forks of threads that never start (creating them failed).
#![no_std]
#![forbid(unsafe_code)]

/// First word of a thread header.
pub const THREAD_MAGIC: u64 = u64::from_le_bytes(*b"OVTKTHR1");

/// Keys of the lines of the `process` file.
pub mod process_keys {
    /// Version of this layout, [`super::VERSION`].
    pub const VERSION: &str = "version";
    /// Process id.
    pub const PID: &str = "pid";
    /// Process id of the parent.
    pub const PARENT: &str = "parent";
    /// Path of the executable.
    pub const EXECUTABLE: &str = "executable";
    /// Working directory at the start.
    pub const DIRECTORY: &str = "directory";
    /// What stamps are: `tsc` or `counter`.
    pub const STAMPS: &str = "stamps";
    /// 1 if nothing is coalesced, else 0.
    pub const EXACT: &str = "exact";
    /// Bytes the log may take; 0 is no limit.
    pub const MAX_BYTES: &str = "max_bytes";
    /// Written at an orderly end, with its cause: `exit`, `_exit`, `abort`, or `exec` (if that failed, more may follow).
    pub const ENDED: &str = "ended";
    /// The number of a child process that could not be recorded, and the error number that says why.
    pub const UNRECORDED: &str = "unrecorded";
    /// Events that could not be recorded because their thread had already ended or was never set up; written at the end.
    pub const LOST: &str = "lost";
    /// The stamp up to which the log is read, if other threads of the process go on while it is read.
    pub const CLOSED: &str = "closed";
}

/// Version of this layout. It is raised with every new kind of record, because a reader that does not know a kind takes it for damage.
pub const VERSION: u64 = 8;

/// The oldest version that readers of this one read as well. Version 6 has no kinds from [`RecordKind::WriteAgainRange`] on, version 7 has no
/// [`RecordKind::Request`]; all else is the same.
pub const OLDEST_READABLE_VERSION: u64 = 6;

/// What is known of a thread, updated in place while it runs.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct ThreadHeader {
    /// [`THREAD_MAGIC`].
    pub magic: u64,
    /// Number of the thread in order of creation.
    pub number: u32,
    /// Number of the creating thread; `u32::MAX` if unknown.
    pub parent: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// 1 once the thread has ended.
    pub ended: u32,
    /// Stack of the thread: lowest address; 0 if unknown.
    pub stack_low: u64,
    /// Stack of the thread: first address above it; 0 if unknown.
    pub stack_high: u64,
    /// The thread pointer. Static thread-local storage and libc's own data of the thread lie before this address.
    pub thread_pointer: u64,
    /// Bytes of records that could not be stored (disk full): the last records of the thread, or all of them.
    pub lost_bytes: u64,
    /// Where in the file the thread's large tails are; 0 if it has none.
    pub large: u64,
    /// Number of [`RecordKind::WriteAgain`] records.
    pub closing_writes: u64,
    /// Number of accesses that were left out because they repeat others, as of the last full chunk or the thread's end.
    pub coalesced: u64,
}

const _: () = assert!(THREAD_AT + THREAD_HEADER_BYTES <= PAGE_BYTES);

macro_rules! record_kinds {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $words:literal;)*) => {
        /// What a record says. The comment gives the use of value (48 bits of the first word), extra (8 bits), and the
        /// further words; *pc* is the program counter after the call, *stamp* orders operations of different threads.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum RecordKind { $($(#[$doc])* $name = $code,)* }

        impl RecordKind {
            /// The kind with this code.
            pub const fn from_code(code: u8) -> Option<RecordKind> {
                match code { $($code => Some(RecordKind::$name),)* _ => None }
            }

            /// Number of words of such a record.
            pub const fn words(self) -> usize {
                match self { $(RecordKind::$name => $words,)* }
            }
        }
    };
}

record_kinds! {
    /// Read of extra (at most 64) bytes at value; pc.
    Read = 1, 2;
    /// Write of extra (at most 64) bytes at value; pc.
    Write = 2, 2;
    /// Read of a range at value; pc; length.
    ReadRange = 3, 3;
    /// Write of a range at value; pc; length.
    WriteRange = 4, 3;
    /// A function was called; the call returns to value. Extra: the number of frames below it modulo 256 ([`push_depth`]).
    Push = 5, 1;
    /// Only the outermost frames of the call stack are left; value is their number.
    Cut = 6, 1;
    /// Start of a chunk. The outermost frames, value of them, are those of the chunk before (too many to repeat);
    /// pushes of the others follow. Stamp of its start, 0 in the first chunk; number of the chunk.
    Chunk = 7, 3;
    /// First record of the thread numbered value; address of its start function, 0 if unknown; stamp. Extra: 1 if it is the
    /// only thread of a child process after `fork`, 2 if it is a fiber.
    ThreadStart = 8, 3;
    /// Last record of a thread; 0; stamp.
    ThreadEnd = 9, 3;
    /// Thread number value is about to be created; pc; stamp.
    Fork = 10, 3;
    /// Thread number value was joined; pc; stamp.
    Join = 11, 3;
    /// Lock at value acquired exclusively; extra is [`acquire_extra`]; pc; stamp.
    Acquire = 12, 3;
    /// Lock at value released; pc; stamp.
    Release = 13, 3;
    /// Lock at value acquired shared; extra as above; pc; stamp.
    AcquireShared = 14, 3;
    /// Lock at value released, in whichever mode the thread holds it; extra is 0 or [`release_extra`]; pc; stamp.
    ReleaseAny = 15, 3;
    /// The synchronisation object at value is new: it has nothing to do with earlier objects at this address; extra is of
    /// [`lock_flags`]; pc; stamp.
    Forget = 16, 3;
    /// Atomic load (or failed compare-exchange) at value; extra is [`atomic_extra`]; pc; stamp.
    AtomicLoad = 17, 3;
    /// Atomic store at value; extra as above; pc; stamp.
    AtomicStore = 18, 3;
    /// Atomic read-modify-write at value; extra as above; pc; stamp.
    AtomicRmw = 19, 3;
    /// Fence with memory order extra; pc; stamp.
    Fence = 20, 3;
    /// Object at value signalled: ordered before every later `Wait` on it; pc; stamp.
    Post = 21, 3;
    /// Ordered after every earlier `Post` of the object at value; pc; stamp.
    Wait = 22, 3;
    /// Semaphore at value initialised; pc; stamp; initial number of tokens.
    SemaphoreInit = 23, 4;
    /// Token added to the semaphore at value; pc; stamp.
    SemaphorePost = 24, 3;
    /// Token taken from the semaphore at value; pc; stamp.
    SemaphoreWait = 25, 3;
    /// Barrier at value initialised; pc; stamp; number of threads.
    BarrierInit = 26, 4;
    /// Arrival at the barrier at value; pc; stamp.
    BarrierArrive = 27, 3;
    /// Return from the barrier at value; pc; stamp.
    BarrierLeave = 28, 3;
    /// Condition variable at value signalled, extra 1 for broadcast; pc; stamp.
    CondSignal = 29, 3;
    /// Return from a wait on the condition variable at value, extra 1 if it timed out; pc; stamp.
    CondWake = 30, 3;
    /// Heap block allocated at value; pc; stamp; [`block_size`]. Extra: bytes that the allocator added by rounding up. Programs that
    /// ask for the usable size may use them.
    Alloc = 31, 4;
    /// Heap block at value freed; extra is 1 if this does not count as an access (the thread ignores its accesses, or the loader
    /// frees); pc; stamp.
    Free = 32, 3;
    /// Memory mapped at value; extra is 1 if that does not count as an access; pc; stamp; size.
    Map = 33, 4;
    /// Memory unmapped at value; pc; stamp; size.
    Unmap = 34, 4;
    /// About to write to file descriptor value; pc; stamp.
    FdPost = 35, 3;
    /// File descriptor value was read from; pc; stamp.
    FdWait = 36, 3;
    /// File descriptor value now refers to the same object as the descriptor in the fourth word (the other end of a pipe, a
    /// duplicate, [`NETWORK`]); pc; stamp. Extra: 1 if value was open before and referred to something else.
    FdAlias = 37, 4;
    /// File descriptor value refers to a new object; pc; stamp.
    FdForget = 38, 3;
    /// The bytes from value on are not checked for races; pc; stamp; length.
    Benign = 39, 4;
    /// This thread wrote extra bytes (at most 64) at value again after it had recorded its write of them; pc of one of these
    /// writes, whose call stack is not known.
    WriteAgain = 40, 2;
    /// Name of thread number value, up to 21 bytes, seven in each further word from the lowest byte on, zeros behind.
    ThreadName = 41, 4;
    /// Named semaphore at value opened, perhaps again; pc; stamp; number of tokens it has.
    SemaphoreOpen = 42, 4;
    /// Reads of extra bytes each, the first at value; pc; [`run`]: distance and number.
    ReadRun = 43, 3;
    /// Writes of extra bytes each, the first at value; as above.
    WriteRun = 44, 3;
    /// In brief records, the number extra stands for the program counter value, from here to the end of the chunk or to the next
    /// such record with this number.
    Place = 45, 1;
    /// What is written to file descriptor value can be read from the descriptor in the fourth word from now on (`splice` and the
    /// like); pc; stamp.
    FdMerge = 46, 4;
    /// The synchronisation object at value is destroyed; extra is of [`lock_flags`]; pc; stamp.
    Destroy = 47, 3;
    /// Thread number value was detached and needs no join; pc; stamp.
    Detach = 48, 3;
    /// The program did something wrong with the object at value; extra is a [`misuse`]; pc; stamp.
    Misuse = 49, 3;
    /// File descriptor value is about to be closed; pc; stamp.
    FdClose = 50, 3;
    /// About to wait for the condition variable at value; pc; stamp.
    CondWait = 51, 3;
    /// File descriptor value was used in a way that orders nothing; pc; stamp.
    FdUse = 52, 3;
    /// Bytes from value on were written again, as in [`WriteAgain`](Self::WriteAgain); pc; how many. The recorder writes no such record: whoever
    /// reads a log may join neighbours.
    WriteAgainRange = 53, 3;
    /// What is in memory from value on is about to be moved, and the memory is not in use any more; pc; stamp; length. The next
    /// [`RecordKind::MoveTo`] of this thread says where it is moved to.
    MoveFrom = 54, 4;
    /// The locks and other objects that this thread moved are at value now; pc; stamp; length.
    MoveTo = 55, 4;
    /// Everything that any thread did before comes before what this thread does next; pc; stamp.
    WaitForAll = 56, 3;
    /// The thread was here at this time; pc; stamp. This orders nothing: it says when the accesses before and after it happened.
    Moment = 57, 3;
    /// About to wait for the lock at value, which another thread holds; extra is of [`request`]; pc; stamp. The thread waits until its next record, but
    /// for those of signal handlers.
    Request = 58, 3;
}

/// The smallest code of brief records.
pub const BRIEF: u8 = 0x40;
/// Code of a [`RecordKind::Acquire`] whose extra byte is zero. Two words; the second is the stamp.
pub const BRIEF_ACQUIRE: u8 = 0x60;
/// Code of a [`RecordKind::Release`] by the thread that holds the lock. One word; the stamp is that of the record before.
pub const BRIEF_RELEASE: u8 = 0x61;
/// Code of a [`RecordKind::Acquire`], with a zero extra byte, of a lock that this thread had last. One word, as above.
pub const BRIEF_ACQUIRE_AGAIN: u8 = 0x62;
const BRIEF_WRITE: u8 = 0x08;
const BRIEF_RUN: u8 = 0x10;
const BRIEF_SIZE: u8 = 0x07;

/// Code of a [`RecordKind::Read`] or [`RecordKind::Write`] of 1, 2, 4, 8 or 16 bytes. One word.
#[inline]
pub const fn brief_access(write: bool, size: usize) -> u8 {
    BRIEF | if write { BRIEF_WRITE } else { 0 } | size.trailing_zeros() as u8
}

/// Code of a [`RecordKind::ReadRun`] or [`RecordKind::WriteRun`] of such accesses. Two words; the second is [`run`].
#[inline]
pub const fn brief_run(write: bool, size: usize) -> u8 {
    brief_access(write, size) | BRIEF_RUN
}

/// Of the code of a brief access or of a run of such: whether it writes, whether it is a run, and how many bytes an access has. `None` for other
/// codes.
#[inline]
pub const fn split_brief(code: u8) -> Option<(bool, bool, u64)> {
    let size = code & BRIEF_SIZE;
    match code & !(BRIEF_SIZE | BRIEF_WRITE | BRIEF_RUN) == BRIEF && size <= 4 {
        true => Some((code & BRIEF_WRITE != 0, code & BRIEF_RUN != 0, 1 << size)),
        false => None,
    }
}

/// The first word of a brief record.
#[inline]
pub const fn brief_head(code: u8, place: u8, address: u64) -> u64 {
    ((code as u64) << 56) | ((place as u64) << VALUE_BITS) | (address & ((1 << VALUE_BITS) - 1))
}

/// In [`RecordKind::FdAlias`], the object that all sockets between processes share: a read from the network
/// comes after all earlier writes to it.
pub const NETWORK: u64 = 0xffff_ffff;

/// Number of low bits of a first word that hold the value.
pub const VALUE_BITS: u32 = 48;

/// The first word of a record.
#[inline]
pub const fn head(kind: RecordKind, extra: u8, value: u64) -> u64 {
    ((kind as u64) << 56) | ((extra as u64) << VALUE_BITS) | (value & ((1 << VALUE_BITS) - 1))
}

/// The parts of a first word; `None` if the word is not the first of a record.
#[inline]
pub const fn split_head(word: u64) -> Option<(RecordKind, u8, u64)> {
    match RecordKind::from_code((word >> 56) as u8) {
        Some(kind) => Some((kind, (word >> VALUE_BITS) as u8, word & ((1 << VALUE_BITS) - 1))),
        None => None,
    }
}

/// Extra byte of an atomic record: binary logarithm of the size (low 4 bits) and memory order (C's numbering, high 4).
#[inline]
pub const fn atomic_extra(size_log2: u8, order: u8) -> u8 {
    size_log2 | (order << 4)
}

/// Size in bytes and memory order (C's numbering) from the extra byte of an atomic record.
#[inline]
pub const fn split_atomic_extra(extra: u8) -> (u64, u8) {
    (1 << (extra & 15), extra >> 4)
}

/// Third word of a run that has one access so far; `stride` is the distance in bytes to the next one.
#[inline]
pub const fn run(stride: i32) -> u64 {
    stride as u32 as u64 | ONE_MORE
}

/// Most accesses of a run, so that readers can rely on a limit.
pub const LONGEST_RUN: u64 = 1024;

/// Added to the third word of a run for each further access.
pub const ONE_MORE: u64 = 1 << 32;

/// Distance in bytes from one access to the next, and number of accesses, from the third word of a run.
#[inline]
pub const fn split_run(word: u64) -> (i64, u64) {
    let count = word >> 32 & 0xff_ffff;
    (word as u32 as i32 as i64, if count < LONGEST_RUN { count } else { LONGEST_RUN })
}

/// Extra byte of [`RecordKind::Acquire`]: whether it was a `trylock`, which does not wait, and whether the last owner ended without
/// a release (robust mutexes).
#[inline]
pub const fn acquire_extra(tried: bool, owner_died: bool) -> u8 {
    tried as u8 | (owner_died as u8) << 1
}

/// Whether an acquire with this extra byte was a `trylock`, which does not wait.
pub const fn is_try(extra: u8) -> bool {
    extra & 1 == 1
}

/// Bits of the extra byte of [`RecordKind::Request`].
pub mod request {
    /// The thread wants the lock shared.
    pub const SHARED: u8 = 1;
    /// The thread did not get the lock, and goes on.
    pub const WITHDRAWN: u8 = 2;
}

/// Codes of [`RecordKind::Misuse`].
pub mod misuse {
    /// Value is a lock that libc refuses as invalid: it was destroyed or never initialised.
    pub const INVALID_LOCK: u8 = 1;
    /// Value is a signal whose handler changed `errno` and did not restore it.
    pub const ERRNO: u8 = 2;
    /// A signal handler called a function that it must not call.
    pub const UNSAFE_CALL: u8 = 3;
    /// The thread must hold no lock here. Sealing knows whether it holds one.
    pub const MUST_HOLD_NONE: u8 = 4;
    /// Value is a lock that libc refuses to give to the thread that already holds it.
    pub const DOUBLE_LOCK: u8 = 5;
    /// A thread, or the process, ends while its accesses or operations are ignored; the program counter is where that began.
    pub const STILL_IGNORED: u8 = 6;
}

/// Bits of the extra of [`RecordKind::Forget`] and [`RecordKind::Destroy`] for locks that the program declares.
pub mod lock_flags {
    /// The lock was initialised by the linker: it is used before it is created and after it is destroyed.
    pub const STATIC: u8 = 1;
    /// Destroying the lock counts only if it was created with this flag, too.
    pub const NOT_STATIC: u8 = 2;
}

/// The mode in which the program says that it releases a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReleaseMode {
    /// The program does not say: the mode in which the lock is held.
    Any = 0,
    /// Exclusive.
    Exclusive = 1,
    /// Shared.
    Shared = 2,
}

/// Extra byte of [`RecordKind::ReleaseAny`] if the program says in which mode it holds the lock.
#[inline]
pub const fn release_extra(shared: bool) -> u8 {
    if shared { ReleaseMode::Shared as u8 } else { ReleaseMode::Exclusive as u8 }
}

/// The mode from the extra byte of a release.
#[inline]
pub const fn split_release_extra(extra: u8) -> ReleaseMode {
    match extra {
        1 => ReleaseMode::Exclusive,
        2 => ReleaseMode::Shared,
        _ => ReleaseMode::Any,
    }
}

const BLOCK_IS_IGNORED: u64 = 1 << 55;

/// Fourth word of [`RecordKind::Alloc`]: the requested size, and whether allocating counts as an access.
#[inline]
pub const fn block_size(bytes: u64, is_access: bool) -> u64 {
    bytes & (BLOCK_IS_IGNORED - 1) | if is_access { 0 } else { BLOCK_IS_IGNORED }
}

/// Size and whether allocating counts as an access.
#[inline]
pub const fn split_block_size(word: u64) -> (u64, bool) {
    (word & (BLOCK_IS_IGNORED - 1), word & BLOCK_IS_IGNORED == 0)
}

/// Depth at which a [`RecordKind::Push`] with this extra byte puts its frame: the largest possible one that is at most `frames`, the
/// current number of frames. The old frames from that depth on are gone.
#[inline]
pub const fn push_depth(extra: u8, frames: usize) -> usize {
    frames.saturating_sub((frames as u8).wrapping_sub(extra) as usize)
}

pub mod gates;
mod piece;
mod read;
pub use piece::{
    FILE_MAGIC, FileHeader, LARGE_TAIL_BYTES, LOG_IS_FULL, PAGE_BYTES, PIECE_HEADER_BYTES, PIECE_MAGIC,
    PieceHeader, PieceKind, SMALL_CHUNKS, SMALL_TAIL_BYTES, THREAD_AT, THREAD_HEADER_BYTES, tail_bytes,
};
pub use read::{BriefAccess, Decoder, Record, Records, is_brief_access};

//! Layout of the raw logs that an instrumented program writes and that sealing reads.
//!
//! One directory per process. In it:
//!
//! - `process`: lines `key value`, see [`process_keys`];
//! - `maps.<k>`: the process's memory map at its start (k = 0), after each `dlopen`, and at its end;
//! - `thread.<number>`: one file per thread, threads numbered from 0 in order of creation.
//!
//! A thread file is a [`ThreadHeader`] that fills its first [`HEADER_BYTES`], then chunks of records. A record is one to four
//! 64-bit words; the first has its [`RecordKind`] in the top byte, every other word has a zero top byte. A thread reserves
//! the words of a record before it fills them, and fills the first word last: whatever moment the process dies at, a
//! reader that passes over words with a zero top byte finds every complete record and nothing else.
//!
//! A chunk starts with a [`RecordKind::Chunk`] record followed by the thread's whole call stack, so that it can be read
//! without those before it. Accesses carry no time. A synchronisation record carries a stamp; the stamps of one thread never
//! decrease, and the stamps of operations on one object are in the order in which the operations took effect.
#![no_std]
#![forbid(unsafe_code)]

/// First word of a thread file.
pub const THREAD_MAGIC: u64 = u64::from_le_bytes(*b"OVTKTHR1");

/// Bytes of a thread file before its first chunk.
pub const HEADER_BYTES: usize = 4096;

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
    /// What stamps are: `tsc` or `counter`.
    pub const STAMPS: &str = "stamps";
    /// Written once at an orderly exit: the exit is complete.
    pub const ENDED: &str = "ended";
    /// Accesses that could not be recorded because their thread was already gone or never set up.
    pub const LOST: &str = "lost";
}

/// Version of this layout.
pub const VERSION: u64 = 1;

/// The first bytes of a thread file, updated in place while the thread runs.
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
    /// Stack of the thread: lowest address.
    pub stack_low: u64,
    /// Stack of the thread: first address above it.
    pub stack_high: u64,
    /// Bytes of records that found no room (disk full).
    pub lost_bytes: u64,
    /// Offset of the first chunk that has not been given up to stay within the size limit.
    pub first_chunk: u64,
    /// Bytes of records given up to stay within the size limit.
    pub dropped_bytes: u64,
    /// Closing writes: lines written again after their recorded write in the same region.
    pub closing_writes: u64,
    /// Name of the thread, zero-terminated.
    pub name: [u8; 16],
}

const _: () = assert!(size_of::<ThreadHeader>() <= HEADER_BYTES);

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
    /// Read of extra bytes at value; pc.
    Read = 1, 2;
    /// Write of extra bytes at value; pc.
    Write = 2, 2;
    /// Read of a range at value; pc; length.
    ReadRange = 3, 3;
    /// Write of a range at value; pc; length.
    WriteRange = 4, 3;
    /// A function was called from the program counter value.
    Push = 5, 1;
    /// Value functions were left.
    Pop = 6, 1;
    /// Start of a chunk: the call stack is empty, pushes follow; stamp of the last synchronisation record before.
    Chunk = 7, 2;
    /// First record of a thread; pc of its start function; stamp.
    ThreadStart = 8, 3;
    /// Last record of a thread; 0; stamp.
    ThreadEnd = 9, 3;
    /// Thread number value was created; pc; stamp.
    Fork = 10, 3;
    /// Thread number value was joined; pc; stamp.
    Join = 11, 3;
    /// Lock at value taken exclusively; pc; stamp.
    Acquire = 12, 3;
    /// Lock at value given back; pc; stamp.
    Release = 13, 3;
    /// Lock at value taken shared; pc; stamp.
    AcquireShared = 14, 3;
    /// Lock at value given back, whichever mode the thread holds it in; pc; stamp.
    ReleaseAny = 15, 3;
    /// The synchronisation object at value is new or gone; pc; stamp.
    Forget = 16, 3;
    /// Atomic load at value; extra is [`atomic_extra`]; pc; stamp.
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
    /// Heap block allocated at value; pc; stamp; size.
    Alloc = 31, 4;
    /// Heap block at value freed; pc; stamp.
    Free = 32, 3;
    /// Memory mapped at value; pc; stamp; size.
    Map = 33, 4;
    /// Memory unmapped at value; pc; stamp; size.
    Unmap = 34, 4;
    /// File descriptor value written to; pc; stamp.
    FdPost = 35, 3;
    /// File descriptor value read from; pc; stamp.
    FdWait = 36, 3;
    /// File descriptor value now means the same as descriptor in the fourth word; pc; stamp.
    FdAlias = 37, 4;
    /// File descriptor value closed or new; pc; stamp.
    FdForget = 38, 3;
    /// The variables in value.. of the length in the fourth word are not to be checked; pc; stamp.
    Benign = 39, 4;
}

/// Number of low bits of a first word that hold the value.
pub const VALUE_BITS: u32 = 48;

/// The first word of a record.
#[inline]
pub const fn head(kind: RecordKind, extra: u8, value: u64) -> u64 {
    ((kind as u64) << 56) | ((extra as u64) << VALUE_BITS) | (value & ((1 << VALUE_BITS) - 1))
}

/// Takes a first word apart; `None` if the word is not the first of a record.
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

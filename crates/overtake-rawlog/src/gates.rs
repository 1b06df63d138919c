//! The file that `overtake confirm` shares with the program it runs again. It says where threads are to be held, and what happened.
//!
//! The program maps the file and changes it in place, so that the results survive a crash of the program. Everything is
//! a 64-bit word in the machine's byte order: [`HEADER`] words, then [`RACE`] words for each race. A *site* is two words:
//! the [hash](module_hash) of the module's file name, and the offset of the instruction in the module as debug information counts it
//! (one before the address that the call returns to). If the module is 0, there is no site.
//!
//! Many threads may reach a site in many ways. So a race may also say from where the access is called ([`CALLERS`]) and where its
//! thread was created ([`CREATED`]). Where the race does not say it, any caller or thread matches.

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"OVTKGAT2");

/// Words before the first race.
pub const HEADER: usize = 8;
/// Word 1: how many races follow.
pub const RACES: usize = 1;
/// Word 2: the longest time that a thread is held, in milliseconds.
pub const LIMIT: usize = 2;
/// Word 3: stop the process (`SIGSTOP`) when both threads of a race are held at their accesses, for a debugger.
pub const STOPS: usize = 3;
/// Word 4: how often threads were held altogether; written by the program.
pub const HOLDS: usize = 4;

/// Most races in a file.
pub const MOST_RACES: usize = 64;
/// Frames of each call stack that are kept.
pub const MOST_FRAMES: usize = 32;

/// Words of a race.
pub const RACE: usize = 208;
/// The two sites, two words each.
pub const SITES: usize = 0;
/// A lock that another thread must acquire first: the site of the acquire that waits for this, two words.
pub const GATE: usize = 4;
/// The number of the thread that waits there, plus one; 0 is any thread.
pub const GATE_THREAD: usize = 6;
/// Which access goes first once both threads are there: 0 the one that was held, 1 the first, 2 the second.
pub const ORDER: usize = 7;
/// How often threads are held at each site, at most.
pub const MOST_HOLDS: usize = 8;
/// For each side: how many of the innermost calls around the access must match (0 is none), and their [hash](StackHash); four words.
pub const CALLERS: usize = 9;
/// For each side: the site where its thread was created. A module of 0 is anywhere, [`MAIN_THREAD`] is the first thread; four words.
pub const CREATED: usize = 13;
/// How often threads reached each site. The program writes this and everything that follows.
pub const ARRIVALS: usize = 17;
/// How often the time limit let a held thread go.
pub const TIMEOUTS: usize = 19;
/// How often a held thread was let go because no other thread could run.
pub const STALLS: usize = 20;
/// How often both sites were reached together, but by accesses that do not race.
pub const OTHER_MEETINGS: usize = 21;
/// How often two threads were at conflicting accesses at the same time.
pub const MEETINGS: usize = 22;
/// Of the last stall: the site where the lock was acquired for which another thread waited; two words.
pub const BLOCKING: usize = 23;
/// The number of the thread that held this lock, plus one.
pub const BLOCKING_THREAD: usize = 25;
/// Eight bytes of the accessed memory, before both accesses.
pub const VALUE: usize = 26;
/// How many bytes of [`VALUE`] both accesses have in common.
pub const VALUE_BYTES: usize = 27;
/// The same bytes after the last write of the two accesses.
pub const NEW_VALUE: usize = 28;
/// Whether [`NEW_VALUE`] is known.
pub const HAS_NEW_VALUE: usize = 29;
/// Which access went first: 1 or 2.
pub const WENT_FIRST: usize = 30;
/// 1 if the two sites are acquires at which two threads wait for each other: a deadlock instead of a race.
pub const IS_DEADLOCK: usize = 31;
/// The two accesses that met, [`SIDE`] words each.
pub const SIDES: usize = 32;
/// Words of an access that met.
pub const SIDE: usize = 72;
/// In an access: its address.
pub const SIDE_ADDRESS: usize = 0;
/// In an access: its length in bytes.
pub const SIDE_LENGTH: usize = 1;
/// In an access: the bits [`WRITES`], [`IS_ATOMIC`] and [`ACQUIRES`].
pub const SIDE_KIND: usize = 2;
/// In an access: its thread.
pub const SIDE_THREAD: usize = 3;
/// In an access: how many frames of the call stack follow.
pub const SIDE_FRAMES: usize = 4;
/// In an access: the frames as sites, innermost first.
pub const SIDE_STACK: usize = 5;

/// A bit of [`SIDE_KIND`]: the access writes.
pub const WRITES: u64 = 1;
/// A bit of [`SIDE_KIND`]: the access is atomic.
pub const IS_ATOMIC: u64 = 2;
/// A bit of [`SIDE_KIND`]: the thread is about to acquire the lock at the address.
pub const ACQUIRES: u64 = 4;

const _: () = assert!(SIDES + 2 * SIDE <= RACE && SIDE_STACK + 2 * MOST_FRAMES <= SIDE);

/// Stands for the module in which the first thread was created.
pub const MAIN_THREAD: u64 = u64::MAX;
/// Most calls around an access that are compared.
pub const MOST_CALLERS: usize = 4;

/// Words of a file with this many races.
pub const fn words(races: usize) -> usize {
    HEADER + races * RACE
}

/// The hash of calls, innermost first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackHash(u64);

impl StackHash {
    /// The hash of no calls.
    pub const EMPTY: StackHash = StackHash(0xcbf2_9ce4_8422_2325);

    /// The hash with one more outer call, from this site.
    #[must_use]
    pub fn with(self, module: u64, offset: u64) -> StackHash {
        let mixed = (self.0 ^ module.rotate_left(17) ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        StackHash(mixed ^ mixed >> 29)
    }

    /// The hash as a word.
    pub fn word(self) -> u64 {
        self.0
    }
}

/// The number of a module: the FNV-1a hash of its file name without directories. Never 0.
pub fn module_hash(file_name: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in file_name {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash.max(1)
}

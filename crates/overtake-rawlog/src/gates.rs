//! The file through which `overtake confirm` and the program it runs again speak: what is to be held where, and what happened.
//!
//! The program maps the file and changes it in place, so that what happened is known whatever becomes of the program. Everything is
//! a 64-bit word in the machine's own order: [`HEADER`] words, then [`RACE`] words for each race. A *site* is two words:
//! the [hash](module_hash) of the module's file name, and the offset of the instruction in the module as debug information counts it
//! (one before the address that the call returns to). A module of 0 is no site.
//!
//! A site alone may be reached by many threads in many ways. So a race may also say from where the access is called ([`CALLERS`]) and where its
//! thread was created ([`CREATED`]); what it does not say does not matter.

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"OVTKGAT2");

/// Words before the first race.
pub const HEADER: usize = 8;
/// Word 1: how many races follow.
pub const RACES: usize = 1;
/// Word 2: how long a thread is held at the most, in milliseconds.
pub const LIMIT: usize = 2;
/// Word 3: stop the process (`SIGSTOP`) when both threads of a race stand at their accesses, for a debugger.
pub const STOPS: usize = 3;
/// Word 4: how often threads were held altogether; written by the program.
pub const HOLDS: usize = 4;

/// No plan has more races.
pub const MOST_RACES: usize = 64;
/// Frames of each call stack that are kept.
pub const MOST_FRAMES: usize = 32;

/// Words of a race.
pub const RACE: usize = 208;
/// The two sites, two words each.
pub const SITES: usize = 0;
/// A lock that must be taken by another thread first: the site of the acquire that waits for it, two words.
pub const GATE: usize = 4;
/// The number of the thread that waits there, plus one; 0 is any thread.
pub const GATE_THREAD: usize = 6;
/// Which access goes first once both threads stand there: 0 the one that was held, 1 the first, 2 the second.
pub const ORDER: usize = 7;
/// How often a thread is held at each site at the most.
pub const MOST_HOLDS: usize = 8;
/// For each side: how many of the innermost calls around it count (0 is none), and their [hash](StackHash); four words.
pub const CALLERS: usize = 9;
/// For each side: where its thread was created, a site; a module of 0 is anywhere, [`MAIN_THREAD`] is the first thread; four words.
pub const CREATED: usize = 13;
/// How often threads came to each site; this and all that follows is written by the program.
pub const ARRIVALS: usize = 17;
/// How often the time limit let a held thread go.
pub const TIMEOUTS: usize = 19;
/// How often a held thread was let go because no other thread could run.
pub const STALLS: usize = 20;
/// How often both sites were reached together, but by accesses that do not race.
pub const OTHER_MEETINGS: usize = 21;
/// How often two threads stood at conflicting accesses at the same time.
pub const MEETINGS: usize = 22;
/// Of the last stall: the site of the acquire of the lock that another thread waited for; two words.
pub const BLOCKING: usize = 23;
/// The number of the thread that held it, plus one.
pub const BLOCKING_THREAD: usize = 25;
/// The eight bytes at the accesses before both, and how many of them the accesses have in common.
pub const VALUE: usize = 26;
/// See [`VALUE`].
pub const VALUE_BYTES: usize = 27;
/// The same bytes after the writing access that came last.
pub const NEW_VALUE: usize = 28;
/// Whether [`NEW_VALUE`] is known.
pub const HAS_NEW_VALUE: usize = 29;
/// Which access went first: 1 or 2.
pub const WENT_FIRST: usize = 30;
/// 1 if the two sites are acquires by which two threads wait for each other: a deadlock instead of a race.
pub const IS_DEADLOCK: usize = 31;
/// The two accesses that met, [`SIDE`] words each.
pub const SIDES: usize = 32;
/// Words of an access that met.
pub const SIDE: usize = 72;
/// Of an access: its address, its length, bits [`WRITES`] and [`IS_ATOMIC`], its thread, how many frames follow, and these: sites, innermost first.
pub const SIDE_ADDRESS: usize = 0;
/// See [`SIDE_ADDRESS`].
pub const SIDE_LENGTH: usize = 1;
/// See [`SIDE_ADDRESS`].
pub const SIDE_KIND: usize = 2;
/// See [`SIDE_ADDRESS`].
pub const SIDE_THREAD: usize = 3;
/// See [`SIDE_ADDRESS`].
pub const SIDE_FRAMES: usize = 4;
/// See [`SIDE_ADDRESS`].
pub const SIDE_STACK: usize = 5;

/// A bit of [`SIDE_KIND`].
pub const WRITES: u64 = 1;
/// A bit of [`SIDE_KIND`].
pub const IS_ATOMIC: u64 = 2;
/// A bit of [`SIDE_KIND`]: the thread is about to take the lock at the address.
pub const ACQUIRES: u64 = 4;

const _: () = assert!(SIDES + 2 * SIDE <= RACE && SIDE_STACK + 2 * MOST_FRAMES <= SIDE);

/// Stands for the module in which the first thread was created.
pub const MAIN_THREAD: u64 = u64::MAX;
/// More calls around an access do not count.
pub const MOST_CALLERS: usize = 4;

/// Words of a file with this many races.
pub const fn words(races: usize) -> usize {
    HEADER + races * RACE
}

/// The hash of calls, innermost first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StackHash(u64);

impl StackHash {
    /// Of no calls.
    pub const EMPTY: StackHash = StackHash(0xcbf2_9ce4_8422_2325);

    /// With one more call, farther out, from this site.
    #[must_use]
    pub fn with(self, module: u64, offset: u64) -> StackHash {
        let mixed = (self.0 ^ module.rotate_left(17) ^ offset).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        StackHash(mixed ^ mixed >> 29)
    }

    /// As a word.
    pub fn word(self) -> u64 {
        self.0
    }
}

/// What stands for a module: the FNV-1a hash of its file name without directories. Never 0.
pub fn module_hash(file_name: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in file_name {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash.max(1)
}

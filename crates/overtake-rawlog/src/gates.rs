//! The file that `overtake confirm` shares with the program it runs again. It says where threads are to be held, and what happened.
//!
//! The program maps the file and changes it in place, so that the results survive a crash of the program. Everything is
//! a 64-bit word in the machine's byte order: [`HEADER`] words, then [`RACE`] words for each race. A *site* is two words:
//! the [hash](module_hash) of the module's file name, and the offset of the instruction in the module as debug information counts it
//! (one before the address that the call returns to). If the module is 0, there is no site.
//!
//! Many threads may reach a site in many ways. So a race may also say from where the access is called ([`CALLERS`]), where its thread was created
//! ([`CREATED`]), and at which of its visits a thread is held ([`OCCURRENCES`]). Where the race does not say it, any caller, thread or visit matches.

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"OVTKGAT4");

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
/// A race has two sides, a deadlock one for each of its threads, but no more than these.
pub const MOST_SIDES: usize = 8;
/// Frames of each call stack that are kept.
pub const MOST_FRAMES: usize = 32;

/// Words of a race.
pub const RACE: usize = 712;
/// The site of each side, two words each.
pub const SITES: usize = 0;
/// For each side: how many of the innermost calls around it count (0 is none), and their [hash](StackHash); two words each.
pub const CALLERS: usize = 16;
/// For each side: where its thread was created, a site; a module of 0 is anywhere, [`MAIN_THREAD`] is the first thread; two words each.
pub const CREATED: usize = 32;
/// For each side: a thread is held there only at its visit with this number, counted from 1 in each thread; 0 is any visit.
pub const OCCURRENCES: usize = 48;
/// How often threads reached each side; written by the program.
pub const ARRIVALS: usize = 56;
/// Which access goes first once both threads are there: 0 the one that was held, 1 the first, 2 the second.
pub const ORDER: usize = 64;
/// How often threads are held at each site, at most.
pub const MOST_HOLDS: usize = 65;
/// How many threads wait for each other in a circle: the sides are acquires of a deadlock, each waiting for the next one. 0 is a race.
pub const CYCLE: usize = 66;
/// The gates, [`GATE`] words each: acquires that wait until another thread has released the lock.
pub const GATES: usize = 67;
/// Most gates of a race.
pub const MOST_GATES: usize = 4;
/// Words of a gate.
pub const GATE: usize = 12;
/// In a gate: the site of the acquire, two words. A module of 0 is no gate.
pub const GATE_SITE: usize = 0;
/// In a gate: how many of the innermost calls around the acquire count, and their hash, as in [`CALLERS`].
pub const GATE_CALLERS: usize = 2;
/// In a gate: where the thread that waits was created, as in [`CREATED`].
pub const GATE_CREATED: usize = 4;
/// In a gate: the number of the thread that waits there, plus one; 0 is any thread.
pub const GATE_THREAD: usize = 6;
/// In a gate: the site of the release that opens it, two words; a module of 0 is any release of the lock.
pub const GATE_UNTIL: usize = 7;
/// In a gate: where the thread that opens it was created, as in [`CREATED`].
pub const GATE_UNTIL_CREATED: usize = 9;
/// In a gate: whether a thread waited there until it was opened; written by the program.
pub const GATE_SERVED: usize = 11;
/// How often the time limit let a held thread go. The program writes this and everything that follows.
pub const TIMEOUTS: usize = 115;
/// How often a held thread was let go because no other thread could run.
pub const STALLS: usize = 116;
/// How often both sites were reached together, but by accesses that do not race.
pub const OTHER_MEETINGS: usize = 117;
/// How often threads were at conflicting accesses, or at all acquires of a deadlock, at the same time.
pub const MEETINGS: usize = 118;
/// Of the last stall: the site where the lock was acquired for which another thread waited; two words.
pub const BLOCKING: usize = 119;
/// The number of the thread that held this lock, plus one.
pub const BLOCKING_THREAD: usize = 121;
/// Eight bytes of the accessed memory, before both accesses.
pub const VALUE: usize = 122;
/// How many bytes of [`VALUE`] both accesses have in common.
pub const VALUE_BYTES: usize = 123;
/// The same bytes after the last write of the two accesses.
pub const NEW_VALUE: usize = 124;
/// Whether [`NEW_VALUE`] is known.
pub const HAS_NEW_VALUE: usize = 125;
/// Which side went first, from 1.
pub const WENT_FIRST: usize = 126;
/// The [occurrences](OCCURRENCES) at which two threads made accesses to common bytes, though not at the same time; two words, 0 if there are none.
pub const LEARNT: usize = 127;
/// The sides that met, [`SIDE`] words each.
pub const SIDES: usize = 136;
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
/// A bit of [`SIDE_KIND`]: it is about to take the lock together with other readers.
pub const SHARES: u64 = 8;

const _: () = assert!(SITES + 2 * MOST_SIDES <= CALLERS && CALLERS + 2 * MOST_SIDES <= CREATED);
const _: () = assert!(CREATED + 2 * MOST_SIDES <= OCCURRENCES && OCCURRENCES + MOST_SIDES <= ARRIVALS);
const _: () =
    assert!(ARRIVALS + MOST_SIDES <= ORDER && GATES + MOST_GATES * GATE <= TIMEOUTS && LEARNT + 2 <= SIDES);
const _: () = assert!(SIDES + MOST_SIDES * SIDE <= RACE && SIDE_STACK + 2 * MOST_FRAMES <= SIDE);

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

//! The file through which `overtake confirm` and the program it runs again speak: what is to be held where, and what happened.
//!
//! The program maps the file and changes it in place, so that what happened is known whatever becomes of the program. Everything is
//! a 64-bit word in the machine's own order: [`HEADER`] words, then [`RACE`] words for each race. A *site* is two words:
//! the [hash](module_hash) of the module's file name, and the offset of the instruction in the module as debug information counts it
//! (one before the address that the call returns to). A module of 0 is no site.

/// First word of the file.
pub const MAGIC: u64 = u64::from_le_bytes(*b"OVTKGAT1");

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
pub const RACE: usize = 112;
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
/// How often threads came to each site; this and all that follows is written by the program.
pub const ARRIVALS: usize = 10;
/// How often the time limit let a held thread go.
pub const TIMEOUTS: usize = 12;
/// How often a held thread was let go because no other thread could run.
pub const STALLS: usize = 13;
/// How often both sites were reached together, but by accesses that do not race.
pub const OTHER_MEETINGS: usize = 14;
/// How often two threads stood at conflicting accesses at the same time.
pub const MEETINGS: usize = 15;
/// Of the last stall: the site of the acquire of the lock that another thread waited for; two words.
pub const BLOCKING: usize = 16;
/// The number of the thread that held it, plus one.
pub const BLOCKING_THREAD: usize = 18;
/// The eight bytes at the accesses before both, and how many of them the accesses have in common.
pub const VALUE: usize = 19;
/// See [`VALUE`].
pub const VALUE_BYTES: usize = 20;
/// The same bytes after the writing access that came last.
pub const NEW_VALUE: usize = 21;
/// Whether [`NEW_VALUE`] is known.
pub const HAS_NEW_VALUE: usize = 22;
/// Which access went first: 1 or 2.
pub const WENT_FIRST: usize = 23;
/// The two accesses that met, [`SIDE`] words each.
pub const SIDES: usize = 24;
/// Words of an access that met.
pub const SIDE: usize = 44;
/// Of an access: its address, its length, bits [`WRITES`] and [`IS_ATOMIC`], its thread, how many frames follow, and these: return addresses, innermost first.
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

const _: () = assert!(SIDES + 2 * SIDE <= RACE && SIDE_STACK + MOST_FRAMES <= SIDE);

/// Words of a file with this many races.
pub const fn words(races: usize) -> usize {
    HEADER + races * RACE
}

/// What stands for a module: the FNV-1a hash of its file name without directories. Never 0.
pub fn module_hash(file_name: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in file_name {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash.max(1)
}

//! Order through names in the file system: what comes before a name is taken away or given to another file comes before what follows the opening of
//! that name. Programs use that as a lock: who creates the file may go on, and removes it afterwards.
//!
//! A name stands for an object at an address that no program has. Two ways to spell a path are two objects.

use overtake_rawlog::RecordKind;

use super::note;
use super::real::hook;
use super::strings::read_text;
use crate::thread;

/// The addresses of names begin here; there are 2 to the power of 32.
const NAMES: usize = 0x5000_0000_0000_0000;

/// The object of a path: FNV-1a of its bytes.
fn object(path: usize) -> usize {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = path;
    // SAFETY: our caller passes a text that ends with a zero. Volatile, so that compilers do not make a call of this.
    while let letter @ 1.. = unsafe { (at as *const u8).read_volatile() } {
        hash = (hash ^ u32::from(letter)).wrapping_mul(0x0100_0193);
        at += 1;
    }
    NAMES + hash as usize
}

/// A path was looked up.
pub(super) fn looked_up(path: usize, pc: usize) {
    if path != 0 && thread::current().is_some() {
        note(RecordKind::Wait, 0, object(path), pc);
    }
}

/// What a path stands for is about to change.
fn changing(path: usize, pc: usize) {
    if path != 0 && thread::current().is_some() {
        read_text(path, pc);
        note(RecordKind::Post, 0, object(path), pc);
    }
}

hook! {
    fn unlink(path: usize; pc) -> i32 {
        changing(path, pc);
        real(path)
    }
    fn unlinkat(at: i32, path: usize, flags: i32; pc) -> i32 {
        changing(path, pc);
        real(at, path, flags)
    }
    fn rmdir(path: usize; pc) -> i32 {
        changing(path, pc);
        real(path)
    }
    fn remove(path: usize; pc) -> i32 {
        changing(path, pc);
        real(path)
    }
    fn rename(from: usize, to: usize; pc) -> i32 {
        changing(from, pc);
        changing(to, pc);
        real(from, to)
    }
    fn renameat(at: i32, from: usize, to_at: i32, to: usize; pc) -> i32 {
        changing(from, pc);
        changing(to, pc);
        real(at, from, to_at, to)
    }
    fn renameat2(at: i32, from: usize, to_at: i32, to: usize, flags: u32; pc) -> i32 {
        changing(from, pc);
        changing(to, pc);
        real(at, from, to_at, to, flags)
    }
}

//! Finds out whether the rest of the program can still run: the kernel says in which system call each thread is.
//!
//! A thread that waits for a futex without a time limit continues only when another thread wakes it. A thread that spins for a lock of a held thread
//! (`wanted`) continues only after that one. If all threads except the held ones wait like this, the program is stuck because of us. Where
//! the kernel does not say it, the held threads continue after the time limit.

use core::mem::MaybeUninit;

use crate::sys::{self, Fd};
use crate::text::Text;

/// What the threads do that are not held.
#[derive(Clone, Copy, Default)]
pub(super) struct Others {
    /// There are some, and all of them wait without a limit.
    pub(super) are_stuck: bool,
    /// An address for which one of them waits and that the caller asked for.
    pub(super) wait_for: Option<u64>,
}

/// Looks at all threads that are not held. `spins_for` gives the lock for which a thread spins in vain; `is_wanted` says which addresses the caller
/// asks for.
pub(super) fn look_at_others(
    is_held: fn(u32) -> bool,
    spins_for: impl Fn(u32) -> Option<u64>,
    is_wanted: impl Fn(u64) -> bool,
) -> Others {
    let me = sys::kernel_thread_id();
    let mut others = Others::default();
    let Ok(directory) = Fd::open(b"/proc/self/task\0", libc::O_RDONLY | libc::O_DIRECTORY) else {
        return others;
    };
    let (mut waiting, mut running) = (0, 0);
    let mut room = [const { MaybeUninit::uninit() }; 2048];
    while let Some(entries) = directory.entries(&mut room).filter(|entries| !entries.is_empty()) {
        for name in names(entries) {
            let Some(thread) = number(name, 10) else { continue };
            if thread == u64::from(me) || is_held(thread as u32) {
                continue;
            }
            match futex_of(name).or_else(|| spins_for(thread as u32)) {
                Some(address) => {
                    waiting += 1;
                    others.wait_for = others.wait_for.or(Some(address).filter(|address| is_wanted(*address)));
                }
                None => running += 1,
            }
        }
    }
    directory.close();
    others.are_stuck = waiting > 0 && running == 0;
    others
}

/// The names in a directory, from the kernel's entries.
fn names(mut entries: &[u8]) -> impl Iterator<Item = &[u8]> {
    /// Bytes of an entry before its name; the last of them is its type, the two before that are its length.
    const BEFORE_NAME: usize = 19;
    core::iter::from_fn(move || {
        let length = u16::from_le_bytes([*entries.get(16)?, *entries.get(17)?]);
        let entry = entries.get(BEFORE_NAME..usize::from(length))?;
        entries = entries.get(usize::from(length)..)?;
        entry.split(|byte| *byte == 0).next()
    })
}

/// The futex that a thread of this process waits for without a limit.
fn futex_of(thread: &[u8]) -> Option<u64> {
    let mut path = Text::new();
    path.push(b"/proc/self/task/").push(thread).push(b"/syscall");
    let file = Fd::open(path.terminated()?, libc::O_RDONLY).ok()?;
    let mut room = [const { MaybeUninit::uninit() }; 256];
    let line = file.read(&mut room);
    file.close();
    endless_futex(line?)
}

/// The address in a line `202 0xADDRESS 0xOPERATION 0xVALUE 0xTIME ...`, if it is a wait without a time limit.
fn endless_futex(line: &[u8]) -> Option<u64> {
    let mut words = line.split(|byte| *byte == b' ');
    let call = number(words.next()?, 10)?;
    let mut hexadecimal = || number(words.next()?.strip_prefix(b"0x")?, 16);
    let (address, operation, _, time) = (hexadecimal()?, hexadecimal()?, hexadecimal()?, hexadecimal()?);
    let waits = [libc::FUTEX_WAIT, libc::FUTEX_WAIT_BITSET, libc::FUTEX_LOCK_PI];
    let is_wait = waits.contains(&(operation as i32 & 0x7f));
    (call == libc::SYS_futex as u64 && is_wait && time == 0).then_some(address)
}

fn number(digits: &[u8], base: u32) -> Option<u64> {
    let digit = |byte: &u8| (*byte as char).to_digit(base).map(u64::from);
    let add = |sum: u64, byte: &u8| sum.checked_mul(u64::from(base))?.checked_add(digit(byte)?);
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add))?
}

#[cfg(test)]
mod tests {
    use super::endless_futex;

    #[test]
    fn only_futexes_without_a_time_are_waited_for_forever() {
        assert_eq!(endless_futex(b"202 0x7f00 0x80 0x2 0x0 0x0 0x0 0x7ffd 0x7f12\n"), Some(0x7f00));
        assert_eq!(endless_futex(b"202 0x7f00 0x189 0x2 0x0 0x0 0x0 0x7ffd 0x7f12\n"), Some(0x7f00));
        for other in [
            b"202 0x7f00 0x80 0x2 0x7ffc 0x0 0x0 0x7ffd 0x7f12\n" as &[u8], // with a limit
            b"202 0x7f00 0x81 0x2 0x0 0x0 0x0 0x7ffd 0x7f12\n",             // wakes
            b"230 0x0 0x0 0x7ffc 0x0 0x0 0x0 0x7ffd 0x7f12\n",              // sleeps
            b"running\n",
            b"",
        ] {
            assert_eq!(endless_futex(other), None);
        }
    }
}

//! Where the stack of a thread is.

use crate::libc_hooks::system;
use crate::sys::{self, Fd};

/// Lowest address of this thread's stack and the first above it; zeros if unknown.
pub(crate) fn current(is_main_thread: bool) -> (u64, u64) {
    if is_main_thread { main_stack() } else { thread_stack() }
}

fn thread_stack() -> (u64, u64) {
    // SAFETY: the attributes are initialised by the first call and destroyed by the last.
    unsafe {
        let mut attributes = core::mem::MaybeUninit::uninit();
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return (0, 0);
        }
        let stack = system::stack_of(attributes.as_ptr());
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        stack.map_or((0, 0), |(low, size)| (low as u64, low as u64 + size as u64))
    }
}

/// The main thread's stack: from the lowest address to which it may grow to the end of its mapping. (libc would read the memory map with
/// `fopen`, and is not ready for it this early.)
fn main_stack() -> (u64, u64) {
    /// The kernel keeps at least this much free below the stack.
    const GAP: u64 = 128 << 20;
    let local = 0_u8;
    let here = &raw const local as u64;
    let high = end_of_mapping(here);
    let size = sys::limit(libc::RLIMIT_STACK).unwrap_or(GAP).min(GAP);
    if high == 0 { (0, 0) } else { (high.saturating_sub(size).min(here), high) }
}

/// The first address above the mapping that `address` is in; 0 if none is found.
fn end_of_mapping(address: u64) -> u64 {
    let Ok(maps) = Fd::open(b"/proc/self/maps\0", libc::O_RDONLY) else { return 0 };
    let mut buffer = [const { core::mem::MaybeUninit::uninit() }; 1024];
    let mut parser = MapsParser::default();
    let mut found = 0;
    while let Ok(count @ 1..) = maps.read_into(&mut buffer) {
        // SAFETY: the kernel filled this many bytes.
        for byte in unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast::<u8>(), count) } {
            if let Some((low, high)) = parser.take(*byte)
                && (low..high).contains(&address)
            {
                found = high;
            }
        }
    }
    maps.close();
    found
}

/// Reads `low-high ...` lines byte by byte.
#[derive(Default)]
struct MapsParser {
    low: u64,
    number: u64,
    in_rest: bool,
}

impl MapsParser {
    /// The range of a line, once its second number is complete.
    fn take(&mut self, byte: u8) -> Option<(u64, u64)> {
        match byte {
            b'\n' => *self = MapsParser::default(),
            _ if self.in_rest => {}
            b'-' => self.low = core::mem::take(&mut self.number),
            b' ' => {
                self.in_rest = true;
                return Some((self.low, self.number));
            }
            digit => {
                let value = (digit as char).to_digit(16).unwrap_or(0);
                self.number = self.number << 4 | u64::from(value);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_are_read_byte_by_byte() {
        let maps = b"00400000-00452000 r-xp 0 08:02 173521 /usr/bin/a-b\n7ffc0-7ffd1 rw-p 0 0 0 [stack]\n";
        let mut parser = MapsParser::default();
        let mut ranges = maps.iter().filter_map(|byte| parser.take(*byte));
        assert_eq!(ranges.next(), Some((0x40_0000, 0x45_2000)));
        assert_eq!(ranges.next(), Some((0x7ffc0, 0x7ffd1)));
        assert_eq!(ranges.next(), None);
    }

    #[test]
    fn the_main_stack_is_around_local_variables() {
        let local = 0_u8;
        let high = end_of_mapping(&raw const local as u64);
        assert!(high > &raw const local as u64);
    }
}

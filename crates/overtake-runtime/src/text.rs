//! Short zero-terminated texts in fixed room: paths and lines of the process file, built without allocation.

use core::mem::MaybeUninit;

/// Room for a path; longer ones are refused.
pub(crate) const CAPACITY: usize = 4096;

/// A byte string under construction.
pub(crate) struct Text {
    /// The first `length` bytes are filled. The rest is not initialised, because that would call `memset` (which we interpose).
    bytes: [MaybeUninit<u8>; CAPACITY],
    length: usize,
    overflowed: bool,
}

impl Text {
    /// An empty text in static memory.
    pub(crate) const fn empty() -> Text {
        Text { bytes: [MaybeUninit::uninit(); CAPACITY], length: 0, overflowed: false }
    }

    /// An empty text on the stack.
    #[inline(always)]
    pub(crate) fn new() -> Text {
        let mut text = MaybeUninit::<Text>::uninit();
        let fields = text.as_mut_ptr();
        // SAFETY: all fields are valid then: the bytes may be anything.
        unsafe {
            (&raw mut (*fields).length).write(0);
            (&raw mut (*fields).overflowed).write(false);
            text.assume_init()
        }
    }

    pub(crate) fn clear(&mut self) -> &mut Text {
        self.length = 0;
        self.overflowed = false;
        self
    }

    pub(crate) fn push(&mut self, part: &[u8]) -> &mut Text {
        // One byte stays free for the zero at the end.
        if part.len() < CAPACITY - self.length {
            // SAFETY: the part fits behind what is filled, and is not inside this text.
            unsafe {
                crate::sys::copy(
                    part.as_ptr(),
                    self.bytes.as_mut_ptr().cast::<u8>().add(self.length),
                    part.len(),
                );
            }
            self.length += part.len();
        } else {
            self.overflowed = true;
        }
        self
    }

    pub(crate) fn push_number(&mut self, mut number: u64) -> &mut Text {
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        while let Some(place) = at.checked_sub(1).and_then(|at| digits.get_mut(at)) {
            *place = b'0' + (number % 10) as u8;
            number /= 10;
            at -= 1;
            if number == 0 {
                break;
            }
        }
        self.push(digits.get(at..).unwrap_or_default())
    }

    /// A line `key value`.
    pub(crate) fn push_line(&mut self, key: &str, value: &[u8]) -> &mut Text {
        self.push(key.as_bytes()).push(b" ").push(value).push(b"\n")
    }

    /// A line `key number`.
    pub(crate) fn push_number_line(&mut self, key: &str, number: u64) -> &mut Text {
        self.push(key.as_bytes()).push(b" ").push_number(number).push(b"\n")
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        // SAFETY: this many bytes are filled.
        unsafe { core::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.length) }
    }

    /// The text with a zero at its end, for the kernel; `None` if it did not fit.
    pub(crate) fn terminated(&mut self) -> Option<&[u8]> {
        self.bytes.get_mut(self.length)?.write(0);
        // SAFETY: this many bytes are filled, and the zero.
        (!self.overflowed)
            .then(|| unsafe { core::slice::from_raw_parts(self.bytes.as_ptr().cast(), self.length + 1) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_joined_and_terminated() {
        let mut text = Text::new();
        text.push(b"thread.").push_number(0).push(b"/").push_number(u64::MAX);
        assert_eq!(text.as_bytes(), b"thread.0/18446744073709551615");
        assert_eq!(text.terminated(), Some(&b"thread.0/18446744073709551615\0"[..]));
        assert_eq!(text.clear().push_line("a", b"b").as_bytes(), b"a b\n");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut text = Text::new();
        text.push(&[b'x'; CAPACITY - 1]);
        assert!(text.terminated().is_some());
        text.push(b"y");
        assert!(text.terminated().is_none());
    }
}

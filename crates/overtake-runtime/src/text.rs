//! Short zero-terminated texts in fixed room: paths and lines of the process file, built without allocation.

/// Room for a path; longer ones are refused.
pub(crate) const CAPACITY: usize = 4096;

/// A byte string under construction.
pub(crate) struct Text {
    bytes: [u8; CAPACITY],
    length: usize,
    overflowed: bool,
}

impl Text {
    pub(crate) const fn new() -> Text {
        Text { bytes: [0; CAPACITY], length: 0, overflowed: false }
    }

    pub(crate) fn push(&mut self, part: &[u8]) -> &mut Text {
        // One byte stays free for the zero at the end.
        if part.len() < CAPACITY - self.length {
            self.bytes[self.length..self.length + part.len()].copy_from_slice(part);
            self.length += part.len();
        } else {
            self.overflowed = true;
        }
        self
    }

    pub(crate) fn push_number(&mut self, mut number: u64) -> &mut Text {
        let mut digits = [0_u8; 20];
        let mut at = digits.len();
        loop {
            at -= 1;
            digits[at] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        self.push(&digits[at..])
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// The text with a zero at its end, for the kernel; `None` if it did not fit.
    pub(crate) fn terminated(&self) -> Option<&[u8]> {
        (!self.overflowed).then(|| &self.bytes[..self.length + 1])
    }
}

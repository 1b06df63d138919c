//! What formats of `printf` and `scanf` make libc read and write. The format is parsed together with the list of arguments, as the
//! calling convention for x86-64 lays it out. Arguments by number (`%1$s`) are not handled.

use super::effects::{List, bytes, touch_part};
use super::letters::wide;
use super::strings::length;
use crate::thread;

/// A list of arguments: where the next ones are. It is a copy, so that libc's own list does not move.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Arguments {
    /// How many bytes of `registers` are used: those for integers end at 48, those for floating-point numbers at 176.
    integers: u32,
    floats: u32,
    overflow: usize,
    registers: usize,
}

impl Arguments {
    pub(super) fn of(list: List) -> Arguments {
        // SAFETY: our caller passes a list, which has this layout.
        unsafe { *list.cast::<Arguments>() }
    }

    pub(super) fn next(&mut self) -> usize {
        if self.integers < 48 {
            self.integers += 8;
            // SAFETY: the registers are saved there.
            return unsafe { *((self.registers + self.integers as usize - 8) as *const usize) };
        }
        self.overflow += 8;
        // SAFETY: the format says that there is one more.
        unsafe { *((self.overflow - 8) as *const usize) }
    }

    fn skip_float(&mut self) {
        if self.floats < 176 {
            self.floats += 16;
        } else {
            self.overflow += 8;
        }
    }

    fn skip_long_double(&mut self) {
        self.overflow = self.overflow.next_multiple_of(16) + 16;
    }
}

/// One conversion: `%-5.3ls` and the like.
#[derive(Clone, Copy)]
struct Conversion {
    width: Option<usize>,
    precision: Option<usize>,
    /// Bytes of an integer with this length modifier.
    size: usize,
    is_long_double: bool,
    is_suppressed: bool,
    is_allocated: bool,
    letter: u8,
}

/// A format that is read letter by letter.
struct Format {
    at: usize,
}

impl Format {
    fn peek(&self) -> u8 {
        // SAFETY: our caller passes a text, and nothing reads beyond its zero. Volatile, so that compilers do not make a call of a loop.
        unsafe { (self.at as *const u8).read_volatile() }
    }

    fn take(&mut self) -> u8 {
        let letter = self.peek();
        self.at += usize::from(letter != 0);
        letter
    }

    fn number(&mut self) -> Option<usize> {
        let mut number = None;
        while self.peek().is_ascii_digit() {
            let digit = usize::from(self.take() - b'0');
            number = Some(number.unwrap_or(0_usize).saturating_mul(10).saturating_add(digit));
        }
        number
    }

    /// A number, or the next argument for `*`.
    fn number_or_argument(&mut self, arguments: &mut Arguments) -> Option<usize> {
        if self.peek() == b'*' {
            self.take();
            let given = arguments.next() as i32;
            return usize::try_from(given).ok();
        }
        self.number()
    }

    /// Moves to the next conversion. `stars` is the list from which `*` takes an argument.
    fn next(&mut self, mut stars: Option<&mut Arguments>) -> Option<Conversion> {
        loop {
            while !matches!(self.peek(), 0 | b'%') {
                self.take();
            }
            if self.take() == 0 {
                return None;
            }
            if self.peek() != b'%' {
                break;
            }
            self.take();
        }
        let mut conversion = Conversion {
            width: None,
            precision: None,
            size: 4,
            is_long_double: false,
            is_suppressed: false,
            is_allocated: false,
            letter: 0,
        };
        while matches!(self.peek(), b'-' | b'+' | b' ' | b'#' | b'0' | b'\'' | b'I') {
            self.take();
        }
        match &mut stars {
            Some(arguments) => conversion.width = self.number_or_argument(arguments),
            None => {
                conversion.is_suppressed = self.peek() == b'*';
                self.at += usize::from(conversion.is_suppressed);
                conversion.width = self.number();
            }
        }
        if self.peek() == b'$' {
            return None;
        }
        if self.peek() == b'.' {
            self.take();
            conversion.precision = match &mut stars {
                Some(arguments) => self.number_or_argument(arguments).or(Some(0)),
                None => self.number(),
            };
        }
        self.modifiers(&mut conversion);
        conversion.letter = self.take();
        Some(conversion)
    }

    fn modifiers(&mut self, conversion: &mut Conversion) {
        loop {
            match self.peek() {
                b'h' if conversion.size == 2 => conversion.size = 1,
                b'h' => conversion.size = 2,
                b'l' | b'j' | b'z' | b't' | b'q' => conversion.size = 8,
                b'L' => {
                    conversion.is_long_double = true;
                    conversion.size = 8;
                }
                b'm' => conversion.is_allocated = true,
                _ => return,
            }
            self.take();
        }
    }
}

/// Records the texts that printing reads.
pub(super) fn printing_reads(format: usize, list: List, pc: usize) {
    if thread::current().is_none() {
        return;
    }
    let (mut format, mut arguments) = (Format { at: format }, Arguments::of(list));
    while let Some(conversion) = format.next(Some(&mut arguments)) {
        match conversion.letter {
            b's' | b'S' => {
                let text = arguments.next();
                let most = conversion.precision.unwrap_or(usize::MAX);
                if text != 0 && (conversion.size == 8 || conversion.letter == b'S') {
                    touch_part::<false>(wide(text, most), pc);
                } else if text != 0 {
                    let length = length(text, most);
                    touch_part::<false>(bytes(text, length.saturating_add(1).min(most)), pc);
                }
            }
            b'n' => touch_part::<true>(bytes(arguments.next(), conversion.size), pc),
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' if conversion.is_long_double => {
                arguments.skip_long_double();
            }
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => arguments.skip_float(),
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'c' | b'C' | b'p' => {
                arguments.next();
            }
            b'm' => {}
            _ => return,
        }
    }
}

/// Records what scanning wrote: the first `count` conversions succeeded.
pub(super) fn scanning_wrote(mut count: i32, format: usize, list: List, pc: usize) {
    if thread::current().is_none() {
        return;
    }
    let (mut format, mut arguments) = (Format { at: format }, Arguments::of(list));
    while let Some(conversion) = format.next(None) {
        if conversion.letter == b'[' {
            skip_set(&mut format);
        }
        if conversion.is_suppressed {
            continue;
        }
        if conversion.letter != b'n' {
            if count <= 0 {
                return;
            }
            count -= 1;
        }
        let out = arguments.next();
        let size = match conversion.letter {
            _ if conversion.is_allocated => size_of::<usize>(),
            b'd' | b'i' | b'o' | b'u' | b'x' | b'X' | b'n' => conversion.size,
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' if conversion.is_long_double => 16,
            b'a' | b'A' | b'e' | b'E' | b'f' | b'F' | b'g' | b'G' => conversion.size,
            b'p' => size_of::<usize>(),
            b'c' => conversion.width.unwrap_or(1) * if conversion.size == 8 { 4 } else { 1 },
            b's' | b'[' if conversion.size == 8 => {
                touch_part::<true>(wide(out, usize::MAX), pc);
                continue;
            }
            b's' | b'[' => length(out, usize::MAX) + 1,
            _ => return,
        };
        touch_part::<true>(bytes(out, size), pc);
    }
}

/// Moves behind the `]` that ends a set of letters. A `]` that comes first belongs to the set.
fn skip_set(format: &mut Format) {
    if format.peek() == b'^' {
        format.take();
    }
    format.take();
    while !matches!(format.take(), 0 | b']') {}
}

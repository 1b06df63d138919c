//! Formatted text: the format is read, and the text goes to memory or to a stream. What the format makes libc read besides (`%s`)
//! is not recorded.

use core::ffi::c_void;

use super::files::written;
use super::real::{hook, hook_any};
use super::streams::{Stream, flushing, standard_output};
use super::strings::read_text;
use super::touch;

/// A text of so many letters and a zero was written, as far as there was room.
fn put(result: i32, buffer: usize, room: usize, pc: usize) -> i32 {
    if result >= 0 {
        touch::<true>(buffer, (result as usize + 1).min(room), pc);
    }
    result
}

fn printing(format: usize, stream: *mut Stream, pc: usize) {
    read_text(format, pc);
    flushing(stream, pc);
}

hook_any! {
    fn sprintf(buffer: usize, format: usize; list; pc) -> i32 = vsprintf {
        read_text(format, pc);
        put(real(buffer, format, list), buffer, usize::MAX, pc)
    }
    fn snprintf(buffer: usize, room: usize, format: usize; list; pc) -> i32 = vsnprintf {
        read_text(format, pc);
        put(real(buffer, room, format, list), buffer, room, pc)
    }
    fn printf(format: usize; list; pc) -> i32 = vprintf {
        printing(format, standard_output(), pc);
        real(format, list)
    }
    fn fprintf(stream: *mut Stream, format: usize; list; pc) -> i32 = vfprintf {
        printing(format, stream, pc);
        real(stream, format, list)
    }
    fn dprintf(file: i32, format: usize; list; pc) -> i32 = vdprintf {
        read_text(format, pc);
        written(file, pc);
        real(file, format, list)
    }
}

hook! {
    fn vsprintf(buffer: usize, format: usize, list: *mut c_void; pc) -> i32 {
        read_text(format, pc);
        put(real(buffer, format, list), buffer, usize::MAX, pc)
    }
    fn vsnprintf(buffer: usize, room: usize, format: usize, list: *mut c_void; pc) -> i32 {
        read_text(format, pc);
        put(real(buffer, room, format, list), buffer, room, pc)
    }
    fn vprintf(format: usize, list: *mut c_void; pc) -> i32 {
        printing(format, standard_output(), pc);
        real(format, list)
    }
    fn vfprintf(stream: *mut Stream, format: usize, list: *mut c_void; pc) -> i32 {
        printing(format, stream, pc);
        real(stream, format, list)
    }
    fn vdprintf(file: i32, format: usize, list: *mut c_void; pc) -> i32 {
        read_text(format, pc);
        written(file, pc);
        real(file, format, list)
    }
}

//! Formatted text. Printing reads the format and its texts (`%s`), and writes to memory or to a stream. Scanning reads from there, and
//! writes the values.

use core::ffi::c_void;

use super::arguments::{printing_reads, scanning_wrote};
use super::files::written;
use super::real::{hook, hook_any};
use super::streams::{Stream, filled, flushing, standard_input, standard_output};
use super::strings::read_text;
use super::touch;

/// A text of `result` letters and a zero was written, as far as there was room.
fn put(result: i32, buffer: usize, room: usize, pc: usize) -> i32 {
    if result >= 0 {
        touch::<true>(buffer, (result as usize + 1).min(room), pc);
    }
    result
}

fn reading(format: usize, list: *mut c_void, pc: usize) {
    read_text(format, pc);
    printing_reads(format, list, pc);
}

fn printing(format: usize, list: *mut c_void, stream: *mut Stream, pc: usize) {
    reading(format, list, pc);
    flushing(stream, pc);
}

/// `count` conversions of a text succeeded.
fn scanned(count: i32, input: usize, format: usize, list: *mut c_void, pc: usize) -> i32 {
    read_text(input, pc);
    read_text(format, pc);
    scanning_wrote(count, format, list, pc);
    count
}

/// As [`scanned`], for a stream.
fn scanned_stream(count: i32, stream: *mut Stream, format: usize, list: *mut c_void, pc: usize) -> i32 {
    filled(stream, pc);
    read_text(format, pc);
    scanning_wrote(count, format, list, pc);
    count
}

hook_any! {
    fn sprintf(buffer: usize, format: usize; list; pc) -> i32 = vsprintf {
        reading(format, list, pc);
        put(real(buffer, format, list), buffer, usize::MAX, pc)
    }
    fn snprintf(buffer: usize, room: usize, format: usize; list; pc) -> i32 = vsnprintf {
        reading(format, list, pc);
        put(real(buffer, room, format, list), buffer, room, pc)
    }
    fn printf(format: usize; list; pc) -> i32 = vprintf {
        printing(format, list, standard_output(), pc);
        real(format, list)
    }
    fn fprintf(stream: *mut Stream, format: usize; list; pc) -> i32 = vfprintf {
        printing(format, list, stream, pc);
        real(stream, format, list)
    }
    fn dprintf(file: i32, format: usize; list; pc) -> i32 = vdprintf {
        reading(format, list, pc);
        written(file, pc);
        real(file, format, list)
    }
    fn asprintf(out: *mut usize, format: usize; list; pc) -> i32 = vasprintf {
        reading(format, list, pc);
        allocated(real(out, format, list), out, pc)
    }
    fn __sprintf_chk(buffer: usize, flags: i32, size: usize, format: usize; list; pc) -> i32 = __vsprintf_chk {
        reading(format, list, pc);
        put(real(buffer, flags, size, format, list), buffer, usize::MAX, pc)
    }
    fn __printf_chk(flags: i32, format: usize; list; pc) -> i32 = __vprintf_chk {
        printing(format, list, standard_output(), pc);
        real(flags, format, list)
    }
    fn __fprintf_chk(stream: *mut Stream, flags: i32, format: usize; list; pc) -> i32 = __vfprintf_chk {
        printing(format, list, stream, pc);
        real(stream, flags, format, list)
    }
    fn __snprintf_chk(buffer: usize, room: usize, flags: i32, size: usize, format: usize; list; pc) -> i32 = __vsnprintf_chk {
        reading(format, list, pc);
        put(real(buffer, room, flags, size, format, list), buffer, room, pc)
    }
}

/// A text was allocated and written.
fn allocated(result: i32, out: *mut usize, pc: usize) -> i32 {
    if result >= 0 {
        touch::<true>(out as usize, size_of::<usize>(), pc);
        // SAFETY: libc just wrote it.
        touch::<true>(unsafe { *out }, result as usize + 1, pc);
    }
    result
}

hook! {
    fn vsprintf(buffer: usize, format: usize, list: *mut c_void; pc) -> i32 {
        reading(format, list, pc);
        put(real(buffer, format, list), buffer, usize::MAX, pc)
    }
    fn vsnprintf(buffer: usize, room: usize, format: usize, list: *mut c_void; pc) -> i32 {
        reading(format, list, pc);
        put(real(buffer, room, format, list), buffer, room, pc)
    }
    fn vprintf(format: usize, list: *mut c_void; pc) -> i32 {
        printing(format, list, standard_output(), pc);
        real(format, list)
    }
    fn vfprintf(stream: *mut Stream, format: usize, list: *mut c_void; pc) -> i32 {
        printing(format, list, stream, pc);
        real(stream, format, list)
    }
    fn vdprintf(file: i32, format: usize, list: *mut c_void; pc) -> i32 {
        reading(format, list, pc);
        written(file, pc);
        real(file, format, list)
    }
    fn vasprintf(out: *mut usize, format: usize, list: *mut c_void; pc) -> i32 {
        reading(format, list, pc);
        allocated(real(out, format, list), out, pc)
    }

    // Libraries that were compiled with _FORTIFY_SOURCE call these.
    fn __vsprintf_chk(buffer: usize, flags: i32, size: usize, format: usize, list: *mut c_void; pc) -> i32 {
        reading(format, list, pc);
        put(real(buffer, flags, size, format, list), buffer, usize::MAX, pc)
    }
    fn __vsnprintf_chk(buffer: usize, room: usize, flags: i32, size: usize, format: usize, list: *mut c_void; pc) -> i32 {
        reading(format, list, pc);
        put(real(buffer, room, flags, size, format, list), buffer, room, pc)
    }
    fn __vprintf_chk(flags: i32, format: usize, list: *mut c_void; pc) -> i32 {
        printing(format, list, standard_output(), pc);
        real(flags, format, list)
    }
    fn __vfprintf_chk(stream: *mut Stream, flags: i32, format: usize, list: *mut c_void; pc) -> i32 {
        printing(format, list, stream, pc);
        real(stream, flags, format, list)
    }
}

/// The functions that scan formatted text: by what they scan, each with arguments and with a list of them.
macro_rules! scanning {
    ($($text:ident $text_list:ident $stream:ident $stream_list:ident $input:ident $input_list:ident;)*) => {
        hook_any! {$(
            fn $text(input: usize, format: usize; list; pc) -> i32 = $text_list {
                with_copy(list, |copy| scanned(real(input, format, list), input, format, copy, pc))
            }
            fn $stream(stream: *mut Stream, format: usize; list; pc) -> i32 = $stream_list {
                with_copy(list, |copy| scanned_stream(real(stream, format, list), stream, format, copy, pc))
            }
            fn $input(format: usize; list; pc) -> i32 = $input_list {
                with_copy(list, |copy| scanned_stream(real(format, list), standard_input(), format, copy, pc))
            }
        )*}
        hook! {$(
            fn $text_list(input: usize, format: usize, list: *mut c_void; pc) -> i32 {
                with_copy(list, |copy| scanned(real(input, format, list), input, format, copy, pc))
            }
            fn $stream_list(stream: *mut Stream, format: usize, list: *mut c_void; pc) -> i32 {
                with_copy(list, |copy| scanned_stream(real(stream, format, list), stream, format, copy, pc))
            }
            fn $input_list(format: usize, list: *mut c_void; pc) -> i32 {
                with_copy(list, |copy| scanned_stream(real(format, list), standard_input(), format, copy, pc))
            }
        )*}
    };
}

// Headers call the functions of C99 and, since glibc 2.38, of C23 by these names.
scanning! {
    sscanf vsscanf fscanf vfscanf scanf vscanf;
    __isoc99_sscanf __isoc99_vsscanf __isoc99_fscanf __isoc99_vfscanf __isoc99_scanf __isoc99_vscanf;
    __isoc23_sscanf __isoc23_vsscanf __isoc23_fscanf __isoc23_vfscanf __isoc23_scanf __isoc23_vscanf;
}

/// Calls `scan` with a copy of the list, because libc may change the list.
fn with_copy(list: *mut c_void, scan: impl FnOnce(*mut c_void) -> i32) -> i32 {
    // SAFETY: a list has 24 bytes.
    let mut copy = unsafe { *list.cast::<[u64; 3]>() };
    scan((&raw mut copy).cast())
}

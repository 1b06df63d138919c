//! Streams of stdio: the memory that libc reads and writes for the program, and the descriptors behind the streams.
//!
//! libc's own calls of `read` and `write` do not reach our hooks, so order through a pipe with a stream is recorded here: a function that
//! may write to the descriptor is a post, one that may have read from it a wait. Only functions for a single character are known to use
//! just the buffer, unless it is full when the character is put (or has no room, as in streams without or with line buffering), or empty
//! when the character is got.

use super::files::{read_from, written};
use super::opening::{closing_stream, flushing_all};
use super::real::hook;
use super::strings::{length, read_text};
use super::touch;
use crate::thread;

/// The first fields of libc's `FILE`. They never change, because old programs have compiled code that uses them.
#[repr(C)]
pub(super) struct Stream {
    flags: i32,
    read_next: usize,
    read_end: usize,
    read_start: usize,
    write_start: usize,
    write_next: usize,
    write_end: usize,
}

unsafe extern "C" {
    static stdin: *mut Stream;
    static stdout: *mut Stream;
}

/// The stream that `puts` and `printf` write to.
pub(super) fn standard_output() -> *mut Stream {
    // SAFETY: libc sets it up before anything of ours runs.
    unsafe { stdout }
}

/// The stream that `scanf` reads from.
pub(super) fn standard_input() -> *mut Stream {
    // SAFETY: as above.
    unsafe { stdin }
}

/// The descriptor behind a stream; negative if there is none, as for a stream in memory.
pub(super) fn descriptor(stream: *mut Stream) -> i32 {
    // SAFETY: our caller passes an open stream; `errno` is the thread's own.
    unsafe {
        let errno = libc::__errno_location();
        let kept = *errno;
        let file = libc::fileno(stream.cast());
        *errno = kept;
        file
    }
}

/// The stream may be flushed.
pub(super) fn flushing(stream: *mut Stream, pc: usize) {
    if thread::current().is_some() {
        written(descriptor(stream), pc);
    }
}

/// The stream may have been filled.
pub(super) fn filled(stream: *mut Stream, pc: usize) {
    if thread::current().is_some() {
        read_from(descriptor(stream), pc);
    }
}

fn has_nothing_left(stream: *mut Stream) -> bool {
    // SAFETY: our caller passes an open stream. Another thread may use it now: we must not take libc's lock, and either
    // answer is true at some moment.
    unsafe {
        (&raw const (*stream).read_next).read_volatile() >= (&raw const (*stream).read_end).read_volatile()
    }
}

fn has_no_room(stream: *mut Stream) -> bool {
    // SAFETY: as above.
    unsafe {
        (&raw const (*stream).write_next).read_volatile() >= (&raw const (*stream).write_end).read_volatile()
    }
}

/// `count` items were read into a buffer.
fn read_items(count: usize, buffer: usize, size: usize, stream: *mut Stream, pc: usize) -> usize {
    filled(stream, pc);
    touch::<true>(buffer, count.saturating_mul(size), pc);
    count
}

fn write_items(buffer: usize, size: usize, count: usize, stream: *mut Stream, pc: usize) {
    touch::<false>(buffer, count.saturating_mul(size), pc);
    flushing(stream, pc);
}

/// A line was read into a buffer; none if `line` is null.
fn read_line(line: usize, stream: *mut Stream, pc: usize) -> usize {
    filled(stream, pc);
    if line != 0 && thread::current().is_some() {
        touch::<true>(line, length(line, usize::MAX) + 1, pc);
    }
    line
}

/// The arguments of `getline` and the like: where the buffer is, and how large it is.
#[derive(Clone, Copy)]
struct Growing {
    place: *mut usize,
    room: *mut usize,
    before: [usize; 2],
}

impl Growing {
    fn new(place: *mut usize, room: *mut usize, pc: usize) -> Growing {
        touch::<false>(place as usize, size_of::<usize>(), pc);
        touch::<false>(room as usize, size_of::<usize>(), pc);
        Growing { place, room, before: Growing::now(place, room) }
    }

    fn now(place: *mut usize, room: *mut usize) -> [usize; 2] {
        if place.is_null() || room.is_null() {
            return [0; 2];
        }
        // SAFETY: our caller passes both for libc to read and write.
        unsafe { [*place, *room] }
    }

    /// `result` bytes were read.
    fn read(self, result: isize, stream: *mut Stream, pc: usize) -> isize {
        filled(stream, pc);
        let after = Growing::now(self.place, self.room);
        for (number, at) in [self.place, self.room].into_iter().enumerate() {
            if after[number] != self.before[number] {
                touch::<true>(at as usize, size_of::<usize>(), pc);
            }
        }
        if result >= 0 {
            touch::<true>(after[0], result as usize + 1, pc);
        }
        result
    }
}

hook! {
    fn fread(buffer: usize, size: usize, count: usize, stream: *mut Stream; pc) -> usize {
        read_items(real(buffer, size, count, stream), buffer, size, stream, pc)
    }
    fn fread_unlocked(buffer: usize, size: usize, count: usize, stream: *mut Stream; pc) -> usize {
        read_items(real(buffer, size, count, stream), buffer, size, stream, pc)
    }
    fn fwrite(buffer: usize, size: usize, count: usize, stream: *mut Stream; pc) -> usize {
        write_items(buffer, size, count, stream, pc);
        real(buffer, size, count, stream)
    }
    fn fwrite_unlocked(buffer: usize, size: usize, count: usize, stream: *mut Stream; pc) -> usize {
        write_items(buffer, size, count, stream, pc);
        real(buffer, size, count, stream)
    }
    fn fgets(buffer: usize, room: i32, stream: *mut Stream; pc) -> usize {
        read_line(real(buffer, room, stream), stream, pc)
    }
    fn fgets_unlocked(buffer: usize, room: i32, stream: *mut Stream; pc) -> usize {
        read_line(real(buffer, room, stream), stream, pc)
    }
    fn fputs(text: usize, stream: *mut Stream; pc) -> i32 {
        read_text(text, pc);
        flushing(stream, pc);
        real(text, stream)
    }
    fn fputs_unlocked(text: usize, stream: *mut Stream; pc) -> i32 {
        read_text(text, pc);
        flushing(stream, pc);
        real(text, stream)
    }
    fn puts(text: usize; pc) -> i32 {
        read_text(text, pc);
        flushing(standard_output(), pc);
        real(text)
    }
    fn getline(line: *mut usize, room: *mut usize, stream: *mut Stream; pc) -> isize {
        let buffer = Growing::new(line, room, pc);
        buffer.read(real(line, room, stream), stream, pc)
    }
    fn getdelim(line: *mut usize, room: *mut usize, end: i32, stream: *mut Stream; pc) -> isize {
        let buffer = Growing::new(line, room, pc);
        buffer.read(real(line, room, end, stream), stream, pc)
    }
    /// Headers define `getline` by this function.
    fn __getdelim(line: *mut usize, room: *mut usize, end: i32, stream: *mut Stream; pc) -> isize {
        let buffer = Growing::new(line, room, pc);
        buffer.read(real(line, room, end, stream), stream, pc)
    }

    fn fgetc(stream: *mut Stream; pc) -> i32 { filling(has_nothing_left(stream), stream, real, pc) }
    fn getc(stream: *mut Stream; pc) -> i32 { filling(has_nothing_left(stream), stream, real, pc) }
    /// Headers define `getc_unlocked` by this function, for an empty buffer.
    fn __uflow(stream: *mut Stream; pc) -> i32 { filling(true, stream, real, pc) }
    fn getchar(; pc) -> i32 {
        let stream = standard_input();
        filling(has_nothing_left(stream), stream, |_| real(), pc)
    }

    fn fputc(letter: i32, stream: *mut Stream; pc) -> i32 {
        putting(has_no_room(stream), stream, pc);
        real(letter, stream)
    }
    fn putc(letter: i32, stream: *mut Stream; pc) -> i32 {
        putting(has_no_room(stream), stream, pc);
        real(letter, stream)
    }
    /// Headers define `putc_unlocked` by this function, for a full buffer.
    fn __overflow(stream: *mut Stream, letter: i32; pc) -> i32 {
        putting(true, stream, pc);
        real(stream, letter)
    }
    fn putchar(letter: i32; pc) -> i32 {
        putting(has_no_room(standard_output()), standard_output(), pc);
        real(letter)
    }

    fn fflush(stream: *mut Stream; pc) -> i32 {
        if stream.is_null() {
            flushing_all(pc);
        } else {
            flushing(stream, pc);
        }
        real(stream)
    }
    fn fclose(stream: *mut Stream; pc) -> i32 {
        closing_stream(stream, pc);
        real(stream)
    }
}

/// Gets a character, for which the stream may have to be filled.
fn filling(is_empty: bool, stream: *mut Stream, get: impl FnOnce(*mut Stream) -> i32, pc: usize) -> i32 {
    let letter = get(stream);
    if is_empty {
        filled(stream, pc);
    }
    letter
}

/// Puts a character, for which the stream may have to be flushed.
fn putting(is_full: bool, stream: *mut Stream, pc: usize) {
    if is_full {
        flushing(stream, pc);
    }
}

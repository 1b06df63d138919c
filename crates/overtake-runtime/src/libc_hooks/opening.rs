//! Functions that open descriptors, except those in `files`, and streams on descriptors.

use core::sync::atomic::{AtomicU64, Ordering};

use super::files::{closing, is_new, written};
use super::paths::looked_up;
use super::real::hook;
use super::streams::{Stream, descriptor, filled, flushing};
use super::strings::read_text;
use super::touch;

/// The descriptors that have streams, one bit each; at first those of the standard streams. `fflush(NULL)` writes to all.
static STREAMS: [AtomicU64; 64] = [const { AtomicU64::new(0) }; 64];

fn bit(file: i32) -> Option<(&'static AtomicU64, u64)> {
    let file = usize::try_from(file).ok()?;
    Some((STREAMS.get(file / 64)?, 1 << (file % 64)))
}

/// All streams may be flushed.
pub(super) fn flushing_all(pc: usize) {
    for file in 0..=2 {
        written(file, pc);
    }
    for (number, word) in STREAMS.iter().enumerate() {
        let mut bits = word.load(Ordering::Relaxed);
        while bits != 0 {
            written((number * 64) as i32 + bits.trailing_zeros() as i32, pc);
            bits &= bits - 1;
        }
    }
}

/// A stream was opened. Its descriptor is new if `is_new_file`.
fn streaming(stream: *mut Stream, is_new_file: bool, pc: usize) -> *mut Stream {
    if !stream.is_null() {
        let file = descriptor(stream);
        if is_new_file {
            is_new(file, pc);
        }
        if let Some((word, bit)) = bit(file) {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }
    stream
}

/// A stream is about to be closed.
pub(super) fn closing_stream(stream: *mut Stream, pc: usize) {
    let file = descriptor(stream);
    if let Some((word, bit)) = bit(file) {
        word.fetch_and(!bit, Ordering::Relaxed);
    }
    closing(file, pc);
}

/// The stream is about to be used for another file, or, without a path, in another mode.
fn reopening(path: usize, mode: usize, stream: *mut Stream, pc: usize) {
    if path != 0 {
        read_text(path, pc);
    }
    read_text(mode, pc);
    flushing(stream, pc);
}

/// The descriptor of an open directory.
fn descriptor_of(directory: usize) -> i32 {
    // SAFETY: our caller passes an open directory to libc, or just got it from there.
    unsafe { libc::dirfd(directory as *mut libc::DIR) }
}

/// Defines functions that return a new descriptor for a path, which is the first argument, or the one after `at`.
macro_rules! opens {
    ($($name:ident([$($before:ident: $type:ty)?] path $(, $after:ident: $more:ty)*);)*) => {
        hook! {$(
            fn $name($($before: $type,)? path: usize $(, $after: $more)*; pc) -> i32 {
                read_text(path, pc);
                let file = real($($before,)? path $(, $after)*);
                looked_up(path, pc);
                is_new(file, pc)
            }
        )*}
    };
}

opens! {
    open([] path, flags: i32, mode: u32);
    open64([] path, flags: i32, mode: u32);
    openat([at: i32] path, flags: i32, mode: u32);
    openat64([at: i32] path, flags: i32, mode: u32);
    creat([] path, mode: u32);
    creat64([] path, mode: u32);
    __open_2([] path, flags: i32);
    __open64_2([] path, flags: i32);
    memfd_create([] path, flags: u32);
    shm_open([] path, flags: i32, mode: u32);
}

hook! {
    fn timerfd_create(clock: i32, flags: i32; pc) -> i32 { is_new(real(clock, flags), pc) }
    fn signalfd(file: i32, mask: usize, flags: i32; pc) -> i32 {
        let result = real(file, mask, flags);
        if result != file { is_new(result, pc) } else { result }
    }
    fn inotify_init(; pc) -> i32 { is_new(real(), pc) }
    fn inotify_init1(flags: i32; pc) -> i32 { is_new(real(flags), pc) }
    fn posix_openpt(flags: i32; pc) -> i32 { is_new(real(flags), pc) }
    fn mkstemp(path: usize; pc) -> i32 { made(real(path), path, pc) }
    fn mkstemp64(path: usize; pc) -> i32 { made(real(path), path, pc) }
    fn mkostemp(path: usize, flags: i32; pc) -> i32 { made(real(path, flags), path, pc) }
    fn mkdtemp(path: usize; pc) -> usize {
        let result = real(path);
        if result != 0 {
            made(-1, path, pc);
        }
        result
    }

    fn fopen(path: usize, mode: usize; pc) -> *mut Stream {
        read_text(path, pc);
        read_text(mode, pc);
        let stream = real(path, mode);
        looked_up(path, pc);
        streaming(stream, true, pc)
    }
    fn fopen64(path: usize, mode: usize; pc) -> *mut Stream {
        read_text(path, pc);
        read_text(mode, pc);
        let stream = real(path, mode);
        looked_up(path, pc);
        streaming(stream, true, pc)
    }
    fn fdopen(file: i32, mode: usize; pc) -> *mut Stream {
        read_text(mode, pc);
        streaming(real(file, mode), false, pc)
    }
    fn freopen(path: usize, mode: usize, stream: *mut Stream; pc) -> *mut Stream {
        reopening(path, mode, stream, pc);
        streaming(real(path, mode, stream), false, pc)
    }
    fn freopen64(path: usize, mode: usize, stream: *mut Stream; pc) -> *mut Stream {
        reopening(path, mode, stream, pc);
        streaming(real(path, mode, stream), false, pc)
    }
    fn opendir(path: usize; pc) -> usize {
        read_text(path, pc);
        let result = real(path);
        looked_up(path, pc);
        if result != 0 {
            is_new(descriptor_of(result), pc);
        }
        result
    }
    fn closedir(directory: usize; pc) -> i32 {
        if directory != 0 {
            closing(descriptor_of(directory), pc);
        }
        real(directory)
    }
    fn tmpfile(; pc) -> *mut Stream { streaming(real(), true, pc) }
    fn tmpfile64(; pc) -> *mut Stream { streaming(real(), true, pc) }
    fn popen(command: usize, mode: usize; pc) -> *mut Stream {
        read_text(command, pc);
        read_text(mode, pc);
        streaming(real(command, mode), true, pc)
    }
    fn pclose(stream: *mut Stream; pc) -> i32 {
        closing_stream(stream, pc);
        real(stream)
    }

    // Seeking flushes the buffer and may fill it.
    fn fseek(stream: *mut Stream, offset: i64, from: i32; pc) -> i32 {
        flushing(stream, pc);
        sought(real(stream, offset, from), stream, pc)
    }
    fn fseeko(stream: *mut Stream, offset: i64, from: i32; pc) -> i32 {
        flushing(stream, pc);
        sought(real(stream, offset, from), stream, pc)
    }
    fn fseeko64(stream: *mut Stream, offset: i64, from: i32; pc) -> i32 {
        flushing(stream, pc);
        sought(real(stream, offset, from), stream, pc)
    }
    fn rewind(stream: *mut Stream; pc) {
        flushing(stream, pc);
        real(stream);
        filled(stream, pc);
    }
    fn fsetpos(stream: *mut Stream, place: usize; pc) -> i32 {
        touch::<false>(place, 16, pc);
        flushing(stream, pc);
        sought(real(stream, place), stream, pc)
    }
    fn fsetpos64(stream: *mut Stream, place: usize; pc) -> i32 {
        touch::<false>(place, 16, pc);
        flushing(stream, pc);
        sought(real(stream, place), stream, pc)
    }
}

fn sought(result: i32, stream: *mut Stream, pc: usize) -> i32 {
    if result == 0 {
        filled(stream, pc);
    }
    result
}

/// libc chose the last letters of the path and created the file.
fn made(file: i32, path: usize, pc: usize) -> i32 {
    let length = read_text(path, pc);
    touch::<true>(path, length, pc);
    is_new(file, pc)
}

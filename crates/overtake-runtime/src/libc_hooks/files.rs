//! Order through file descriptors: a write to a pipe, an event counter or a socket comes before a read
//! from it. A post is recorded before the write, a wait after a read that succeeded. Closing counts as writing, because readers
//! see it. Files are treated in the same way, which orders too much rather than too little.
//!
//! A function that moves data from one descriptor to another (`splice`) reads and writes in one step. A record of the read and one of the
//! write could not be stamped in time: threads at the other ends may write and read without a record in between. So the two
//! objects become one.

use overtake_rawlog::{NETWORK, RecordKind};

use super::effects::address_told;
use super::real::hook;
use super::{note, note_with, touch};
use crate::recorder::store;
use crate::{sys, thread};

pub(super) fn written(file: i32, pc: usize) {
    if file >= 0 {
        note(RecordKind::FdPost, 0, file as usize, pc);
    }
}

pub(super) fn read_from(file: i32, pc: usize) {
    if file >= 0 {
        note(RecordKind::FdWait, 0, file as usize, pc);
    }
}

pub(super) fn is_new(file: i32, pc: usize) -> i32 {
    if file >= 0 {
        note(RecordKind::FdForget, 0, file as usize, pc);
    }
    file
}

/// The descriptor is used in a way that orders nothing.
pub(super) fn used(file: i32, pc: usize) {
    if file >= 0 {
        note(RecordKind::FdUse, 0, file as usize, pc);
    }
}

/// The descriptor is about to be closed, which readers at the other end see.
pub(super) fn closing(file: i32, pc: usize) {
    if file >= 0 {
        note(RecordKind::FdClose, 0, file as usize, pc);
    }
}

/// The descriptor `result` now refers to the same object as `file`, instead of what it referred to before.
pub(super) fn replaced(result: i32, file: i32, pc: usize) -> i32 {
    if result >= 0
        && result != file
        && let Some(thread) = thread::current()
    {
        thread.sync_more(RecordKind::FdAlias, 1, result as u64, pc as u64, file as u64);
    }
    result
}

pub(super) fn is_same(file: i32, other: u64, pc: usize) -> i32 {
    if file >= 0 {
        note_with(RecordKind::FdAlias, file as usize, pc, other);
    }
    file
}

/// Both ends of a pipe are one object.
pub(super) fn are_a_pair(result: i32, ends: *const [i32; 2], pc: usize) -> i32 {
    if result == 0 {
        // SAFETY: the call filled both.
        let [first, second] = unsafe { *ends };
        is_new(first, pc);
        is_same(second, first as u64, pc);
    }
    result
}

/// Something was received into one buffer.
pub(super) fn received(result: isize, file: i32, buffer: usize, pc: usize) -> isize {
    if result >= 0 {
        read_from(file, pc);
        touch::<true>(buffer, result as usize, pc);
    }
    result
}

/// One buffer is about to be sent.
pub(super) fn sending(file: i32, buffer: usize, length: usize, pc: usize) {
    touch::<false>(buffer, length, pc);
    written(file, pc);
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Part {
    address: usize,
    length: usize,
}

/// Records the first `total` bytes of a list of buffers.
///
/// # Safety
/// `parts` must point to `count` parts.
pub(super) unsafe fn touch_parts<const WRITE: bool>(
    parts: *const Part,
    count: usize,
    mut total: usize,
    pc: usize,
) {
    /// libc refuses more parts.
    const MOST_PARTS: usize = 1024;
    if thread::current().is_none() || count > MOST_PARTS {
        return;
    }
    for number in 0..count {
        // SAFETY: the caller's promise.
        let part = unsafe { *parts.add(number) };
        let length = part.length.min(total);
        touch::<WRITE>(part.address, length, pc);
        total -= length;
    }
}

pub(super) fn received_parts(result: isize, file: i32, parts: *const Part, count: usize, pc: usize) -> isize {
    if result >= 0 {
        read_from(file, pc);
        // SAFETY: libc just filled them.
        unsafe { touch_parts::<true>(parts, count, result as usize, pc) };
    }
    result
}

pub(super) fn sending_parts(file: i32, parts: *const Part, count: usize, pc: usize) {
    // SAFETY: libc is about to read them.
    unsafe { touch_parts::<false>(parts, count, usize::MAX, pc) };
    written(file, pc);
}

/// Data is about to move from one descriptor to another.
fn passing(from: i32, to: i32, pc: usize) {
    if from >= 0 && to >= 0 {
        note_with(RecordKind::FdMerge, from as usize, pc, to as u64);
        written(to, pc);
    }
}

/// Data was moved, and the offsets that the caller keeps were updated.
fn passed(result: isize, from: i32, offsets: [usize; 2], pc: usize) -> isize {
    if result >= 0 {
        read_from(from, pc);
        for offset in offsets.into_iter().filter(|offset| *offset != 0) {
            touch::<true>(offset, size_of::<i64>(), pc);
        }
    }
    result
}

/// An element of the list that `sendmmsg` and `recvmmsg` take.
#[repr(C)]
struct Message {
    header: libc::msghdr,
    length: u32,
}

fn parts_of(message: *const libc::msghdr) -> (*const Part, usize) {
    // SAFETY: our caller passes a message; `iovec` has the layout of `Part`.
    unsafe { ((*message).msg_iov.cast_const().cast(), (*message).msg_iovlen) }
}

hook! {
    fn pipe(ends: *mut [i32; 2]; pc) -> i32 { are_a_pair(real(ends), ends, pc) }
    fn pipe2(ends: *mut [i32; 2], flags: i32; pc) -> i32 { are_a_pair(real(ends, flags), ends, pc) }
    fn socketpair(domain: i32, kind: i32, protocol: i32, ends: *mut [i32; 2]; pc) -> i32 {
        are_a_pair(real(domain, kind, protocol, ends), ends, pc)
    }
    fn eventfd(value: u32, flags: i32; pc) -> i32 { is_new(real(value, flags), pc) }
    fn epoll_create(size: i32; pc) -> i32 { is_new(real(size), pc) }
    fn epoll_create1(flags: i32; pc) -> i32 { is_new(real(flags), pc) }
    fn socket(domain: i32, kind: i32, protocol: i32; pc) -> i32 {
        is_same(real(domain, kind, protocol), NETWORK, pc)
    }
    fn accept(file: i32, address: usize, length: usize; pc) -> i32 {
        accepted(file, address, length, pc, || real(file, address, length))
    }
    fn accept4(file: i32, address: usize, length: usize, flags: i32; pc) -> i32 {
        accepted(file, address, length, pc, || real(file, address, length, flags))
    }
    fn connect(file: i32, address: usize, length: u32; pc) -> i32 {
        touch::<false>(address, length as usize, pc);
        written(file, pc);
        real(file, address, length)
    }
    fn dup(file: i32; pc) -> i32 { is_same(real(file), file as u64, pc) }
    fn dup2(file: i32, new: i32; pc) -> i32 {
        store::make_way(new);
        replaced(real(file, new), file, pc)
    }
    fn dup3(file: i32, new: i32, flags: i32; pc) -> i32 {
        store::make_way(new);
        replaced(real(file, new, flags), file, pc)
    }
    fn fcntl(file: i32, command: i32, argument: usize; pc) -> i32 {
        duplicated(real(file, command, argument), file, command, pc)
    }
    fn fcntl64(file: i32, command: i32, argument: usize; pc) -> i32 {
        duplicated(real(file, command, argument), file, command, pc)
    }
    fn close(file: i32; pc) -> i32 {
        if store::is_ours(file) {
            return real(-1); // as if it were not open
        }
        closing(file, pc);
        real(file)
    }

    fn read(file: i32, buffer: usize, length: usize; pc) -> isize {
        received(real(file, buffer, length), file, buffer, pc)
    }
    fn __read_chk(file: i32, buffer: usize, length: usize, room: usize; pc) -> isize {
        received(real(file, buffer, length, room), file, buffer, pc)
    }
    fn pread(file: i32, buffer: usize, length: usize, offset: i64; pc) -> isize {
        received(real(file, buffer, length, offset), file, buffer, pc)
    }
    fn pread64(file: i32, buffer: usize, length: usize, offset: i64; pc) -> isize {
        received(real(file, buffer, length, offset), file, buffer, pc)
    }
    fn readv(file: i32, parts: *const Part, count: i32; pc) -> isize {
        received_parts(real(file, parts, count), file, parts, count as usize, pc)
    }
    fn preadv(file: i32, parts: *const Part, count: i32, offset: i64; pc) -> isize {
        received_parts(real(file, parts, count, offset), file, parts, count as usize, pc)
    }
    fn preadv64(file: i32, parts: *const Part, count: i32, offset: i64; pc) -> isize {
        received_parts(real(file, parts, count, offset), file, parts, count as usize, pc)
    }
    fn preadv2(file: i32, parts: *const Part, count: i32, offset: i64, flags: i32; pc) -> isize {
        received_parts(real(file, parts, count, offset, flags), file, parts, count as usize, pc)
    }
    fn preadv64v2(file: i32, parts: *const Part, count: i32, offset: i64, flags: i32; pc) -> isize {
        received_parts(real(file, parts, count, offset, flags), file, parts, count as usize, pc)
    }
    fn recv(file: i32, buffer: usize, length: usize, flags: i32; pc) -> isize {
        received(real(file, buffer, length, flags), file, buffer, pc)
    }
    fn __recv_chk(file: i32, buffer: usize, length: usize, room: usize, flags: i32; pc) -> isize {
        received(real(file, buffer, length, room, flags), file, buffer, pc)
    }
    fn recvfrom(file: i32, buffer: usize, length: usize, flags: i32, address: usize, room: usize; pc) -> isize {
        let before = room_at(room);
        let result = received(real(file, buffer, length, flags, address, room), file, buffer, pc);
        if result >= 0 {
            told_address(address, room, before, pc);
        }
        result
    }
    fn recvmsg(file: i32, message: *mut libc::msghdr, flags: i32; pc) -> isize {
        let result = real(file, message, flags);
        let (parts, count) = parts_of(message);
        received_parts(result, file, parts, count, pc)
    }
    fn recvmmsg(file: i32, messages: *mut Message, count: u32, flags: i32, time: usize; pc) -> i32 {
        let result = real(file, messages, count, flags, time);
        for number in 0..result.max(0) as usize {
            // SAFETY: libc just filled this many elements.
            let message = unsafe { messages.add(number) };
            // SAFETY: as above.
            let length = unsafe { (*message).length };
            // SAFETY: as above.
            let (parts, count) = parts_of(unsafe { &raw const (*message).header });
            touch::<true>(message as usize + core::mem::offset_of!(Message, length), size_of::<u32>(), pc);
            received_parts(length as isize, file, parts, count, pc);
        }
        result
    }

    fn write(file: i32, buffer: usize, length: usize; pc) -> isize {
        sending(file, buffer, length, pc);
        real(file, buffer, length)
    }
    fn pwrite(file: i32, buffer: usize, length: usize, offset: i64; pc) -> isize {
        sending(file, buffer, length, pc);
        real(file, buffer, length, offset)
    }
    fn pwrite64(file: i32, buffer: usize, length: usize, offset: i64; pc) -> isize {
        sending(file, buffer, length, pc);
        real(file, buffer, length, offset)
    }
    fn writev(file: i32, parts: *const Part, count: i32; pc) -> isize {
        sending_parts(file, parts, count as usize, pc);
        real(file, parts, count)
    }
    fn pwritev(file: i32, parts: *const Part, count: i32, offset: i64; pc) -> isize {
        sending_parts(file, parts, count as usize, pc);
        real(file, parts, count, offset)
    }
    fn pwritev64(file: i32, parts: *const Part, count: i32, offset: i64; pc) -> isize {
        sending_parts(file, parts, count as usize, pc);
        real(file, parts, count, offset)
    }
    fn pwritev2(file: i32, parts: *const Part, count: i32, offset: i64, flags: i32; pc) -> isize {
        sending_parts(file, parts, count as usize, pc);
        real(file, parts, count, offset, flags)
    }
    fn pwritev64v2(file: i32, parts: *const Part, count: i32, offset: i64, flags: i32; pc) -> isize {
        sending_parts(file, parts, count as usize, pc);
        real(file, parts, count, offset, flags)
    }
    fn send(file: i32, buffer: usize, length: usize, flags: i32; pc) -> isize {
        sending(file, buffer, length, pc);
        real(file, buffer, length, flags)
    }
    fn sendto(file: i32, buffer: usize, length: usize, flags: i32, address: usize, room: u32; pc) -> isize {
        touch::<false>(address, room as usize, pc);
        sending(file, buffer, length, pc);
        real(file, buffer, length, flags, address, room)
    }
    fn sendmsg(file: i32, message: *const libc::msghdr, flags: i32; pc) -> isize {
        let (parts, count) = parts_of(message);
        sending_parts(file, parts, count, pc);
        real(file, message, flags)
    }
    fn sendmmsg(file: i32, messages: *mut Message, count: u32, flags: i32; pc) -> i32 {
        for number in 0..count as usize {
            // SAFETY: our caller passes this many elements.
            let (parts, count) = parts_of(unsafe { &raw const (*messages.add(number)).header });
            // SAFETY: libc is about to read them.
            unsafe { touch_parts::<false>(parts, count, usize::MAX, pc) };
        }
        written(file, pc);
        let sent = real(file, messages, count, flags);
        for number in 0..sent.max(0) as usize {
            let length = core::mem::offset_of!(Message, length);
            touch::<true>(messages as usize + number * size_of::<Message>() + length, size_of::<u32>(), pc);
        }
        sent
    }

    // The calls of `read` and `write` inside these functions do not reach our hooks.
    fn eventfd_read(file: i32, value: usize; pc) -> i32 {
        let result = real(file, value);
        if result == 0 {
            received(8, file, value, pc);
        }
        result
    }
    fn eventfd_write(file: i32, value: u64; pc) -> i32 {
        written(file, pc);
        real(file, value)
    }

    fn sendfile(to: i32, from: i32, offset: usize, length: usize; pc) -> isize {
        passing(from, to, pc);
        passed(real(to, from, offset, length), from, [offset, 0], pc)
    }
    fn sendfile64(to: i32, from: i32, offset: usize, length: usize; pc) -> isize {
        passing(from, to, pc);
        passed(real(to, from, offset, length), from, [offset, 0], pc)
    }
    fn splice(from: i32, read_at: usize, to: i32, write_at: usize, length: usize, flags: u32; pc) -> isize {
        passing(from, to, pc);
        passed(real(from, read_at, to, write_at, length, flags), from, [read_at, write_at], pc)
    }
    fn tee(from: i32, to: i32, length: usize, flags: u32; pc) -> isize {
        passing(from, to, pc);
        passed(real(from, to, length, flags), from, [0, 0], pc)
    }
    fn copy_file_range(from: i32, read_at: usize, to: i32, write_at: usize, length: usize, flags: u32; pc) -> isize {
        passing(from, to, pc);
        passed(real(from, read_at, to, write_at, length, flags), from, [read_at, write_at], pc)
    }
    /// The direction depends on the end of the pipe.
    fn vmsplice(file: i32, parts: *const Part, count: usize, flags: u32; pc) -> isize {
        if sys::is_for_writing(file) {
            sending_parts(file, parts, count, pc);
            return real(file, parts, count, flags);
        }
        received_parts(real(file, parts, count, flags), file, parts, count, pc)
    }
}

fn duplicated(result: i32, file: i32, command: i32, pc: usize) -> i32 {
    if command == libc::F_DUPFD || command == libc::F_DUPFD_CLOEXEC {
        is_same(result, file as u64, pc);
    }
    result
}

/// Accepts a connection of a listening descriptor by calling `real`.
fn accepted(listening: i32, address: usize, length: usize, pc: usize, real: impl FnOnce() -> i32) -> i32 {
    let room = room_at(length);
    let file = real();
    read_from(listening, pc);
    is_same(file, NETWORK, pc);
    if file >= 0 {
        read_from(file, pc);
        told_address(address, length, room, pc);
    }
    file
}

/// The size of the room that the program gives; 0 if the address is null.
fn room_at(length: usize) -> u32 {
    // SAFETY: our caller passes it for libc to read, or null.
    unsafe { (length as *const u32).as_ref() }.copied().unwrap_or(0)
}

/// libc wrote the address of a socket and its length, if the program asked for it.
fn told_address(address: usize, length: usize, room: u32, pc: usize) {
    if address != 0 && length != 0 {
        address_told(address, length, room, pc);
    }
}

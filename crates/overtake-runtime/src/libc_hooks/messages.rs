//! Message queues. What comes before a message is sent comes before what follows its receipt.
//!
//! A queue of POSIX is a descriptor. One of System V has a number of its own kind, which stands for an object at an address that no program has.

use core::ffi::CStr;

use overtake_rawlog::RecordKind;

use super::effects::{Part, bytes};
use super::files::{closing, is_new, read_from, written};
use super::real::hook;
use super::strings::read_text;
use super::{note, touch};

/// The address that stands for the queue with number 0.
const QUEUES: usize = 0x4000_0000_0000_0000;

/// Where the functions of POSIX are before glibc 2.34.
const LIBRARY: &CStr = c"librt.so.1";

/// The object of a queue of System V.
fn object(queue: i32) -> usize {
    QUEUES + queue as u32 as usize
}

/// A message of System V: its type, and as many bytes.
fn message(address: usize, length: usize) -> Part {
    bytes(address, length.saturating_add(size_of::<i64>()))
}

/// A message of `result` bytes was received, and the program asked for its priority.
fn received(result: isize, queue: i32, out: usize, priority: usize, pc: usize) -> isize {
    if result >= 0 {
        read_from(queue, pc);
        touch::<true>(out, result as usize, pc);
        bytes(priority, size_of::<u32>()).touch::<true>(pc);
    }
    result
}

/// A message is about to be sent.
fn sending(queue: i32, text: usize, length: usize, pc: usize) {
    touch::<false>(text, length, pc);
    written(queue, pc);
}

hook! {
    fn msgsnd(queue: i32, text: usize, length: usize, flags: i32; pc) -> i32 {
        message(text, length).touch::<false>(pc);
        note(RecordKind::Post, 0, object(queue), pc);
        real(queue, text, length, flags)
    }
    fn msgrcv(queue: i32, out: usize, room: usize, kind: i64, flags: i32; pc) -> isize {
        let result = real(queue, out, room, kind, flags);
        if result >= 0 {
            note(RecordKind::Wait, 0, object(queue), pc);
            message(out, result as usize).touch::<true>(pc);
        }
        result
    }
    fn mq_send(queue: i32, text: usize, length: usize, priority: u32; pc) -> i32 {
        REAL.address_in(LIBRARY);
        sending(queue, text, length, pc);
        real(queue, text, length, priority)
    }
    fn mq_timedsend(queue: i32, text: usize, length: usize, priority: u32, until: usize; pc) -> i32 {
        REAL.address_in(LIBRARY);
        sending(queue, text, length, pc);
        real(queue, text, length, priority, until)
    }
    fn mq_receive(queue: i32, out: usize, room: usize, priority: usize; pc) -> isize {
        REAL.address_in(LIBRARY);
        received(real(queue, out, room, priority), queue, out, priority, pc)
    }
    fn mq_timedreceive(queue: i32, out: usize, room: usize, priority: usize, until: usize; pc) -> isize {
        REAL.address_in(LIBRARY);
        received(real(queue, out, room, priority, until), queue, out, priority, pc)
    }
    fn mq_close(queue: i32; pc) -> i32 {
        REAL.address_in(LIBRARY);
        closing(queue, pc);
        real(queue)
    }
    fn mq_open(name: usize, flags: i32, mode: u32, attributes: usize; pc) -> i32 {
        REAL.address_in(LIBRARY);
        read_text(name, pc);
        is_new(real(name, flags, mode, attributes), pc)
    }
}

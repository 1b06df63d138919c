//! What one worker sends to another: the events of a block that concern it.
//!
//! Within a process a part changes hands as it is. To another process it goes packed, in 3 to 8 bytes an event: what an event has in
//! common with the one before takes no room, and numbers are written as differences, seven bits to a byte.

use std::sync::{Mutex, PoisonError};

use overtake_trace::{Event, EventIndex, LeftOut, LocationId, MemoryOrder, Op, Part, ThreadId};
use serde::{Deserialize, Serialize};

/// A part of a block on its way to a worker.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Parcel {
    /// The worker.
    pub(crate) to: u32,
    /// The number of the block.
    pub(crate) block: u32,
    pub(crate) content: Content,
}

/// Room for parts that was used before, for the workers of a process: fresh memory would take as much time as the events. Whoever makes a part takes
/// room from here, and whoever needs it no longer gives it back, so that there is only room for what is on its way.
#[derive(Default)]
pub(crate) struct SpareParts(Mutex<Vec<Part>>);

impl SpareParts {
    /// Room for a part.
    pub(crate) fn take(&self) -> Part {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default()
    }

    /// Gives room back.
    pub(crate) fn put(&self, part: Part) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(part);
    }
}

/// The events of a parcel.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) enum Content {
    /// Packed, for any worker.
    Packed(#[serde(with = "serde_bytes")] Vec<u8>),
    /// As they are, for a worker of the same process. The last one: numbers of variants do not count those that are never written.
    #[serde(skip)]
    Part(Part),
}

impl Content {
    /// The events; none if the bytes are no packed part.
    pub(crate) fn part(self, spare: &SpareParts) -> Option<Part> {
        match self {
            Content::Part(part) => Some(part),
            Content::Packed(bytes) => unpack(&bytes, spare.take()),
        }
    }
}

/// In the first byte of an event, beside its operation.
const SAME_THREAD: u8 = 1 << 5;
const NEXT_PLACE: u8 = 1 << 6;
const SAME_LOCATION: u8 = 1 << 7;

/// What the next event is compared with.
#[derive(Default)]
struct Before {
    thread: u32,
    location: u32,
    /// The place after that of the last event.
    place: u32,
    /// The last operand of each kind.
    operands: [u32; 6],
}

/// Packs a part.
pub(crate) fn pack(part: &Part) -> Vec<u8> {
    let Part { block, places, length, left_out } = part;
    let mut bytes = Vec::with_capacity(16 + 6 * places.len());
    write(&mut bytes, block.first.0);
    write(&mut bytes, (*length).into());
    write(&mut bytes, left_out.len() as u64);
    for LeftOut { before, thread, events } in left_out {
        [*before, thread.0, *events].iter().for_each(|&number| write(&mut bytes, number.into()));
    }
    let mut before = Before::default();
    for (event, &place) in block.events.iter().zip(places) {
        let (thread, location) = (event.thread().0, event.location().0);
        let mut head = event.op() as u8;
        head |= if thread == before.thread { SAME_THREAD } else { 0 };
        head |= if place == before.place { NEXT_PLACE } else { 0 };
        head |= if location == before.location { SAME_LOCATION } else { 0 };
        bytes.push(head);
        if thread != before.thread {
            write(&mut bytes, thread.into());
        }
        if place != before.place {
            write(&mut bytes, (place - before.place).into());
        }
        if location != before.location {
            write(&mut bytes, difference(before.location, location));
        }
        if event.op().has_memory_order() {
            bytes.push(event.order() as u8);
        }
        let operand = &mut before.operands[event.op().operand_kind() as usize];
        write(&mut bytes, difference(*operand, event.operand()));
        *operand = event.operand();
        (before.thread, before.location, before.place) = (thread, location, place.wrapping_add(1));
    }
    bytes
}

/// Unpacks a part, into the room of one that is no longer needed; none if the bytes are no packed part.
fn unpack(mut bytes: &[u8], mut part: Part) -> Option<Part> {
    let bytes = &mut bytes;
    part.block.first = EventIndex(read(bytes)?);
    let length = read(bytes)?.try_into().ok()?;
    part.length = length;
    part.block.events.clear();
    part.places.clear();
    part.left_out.clear();
    for _ in 0..read(bytes)? {
        let mut number = || read(bytes)?.try_into().ok();
        part.left_out.push(LeftOut { before: number()?, thread: ThreadId(number()?), events: number()? });
    }
    let mut before = Before::default();
    while let Some(head) = byte(bytes) {
        let op = Op::from_code(head & (SAME_THREAD - 1))?;
        if head & SAME_THREAD == 0 {
            before.thread = read(bytes)?.try_into().ok()?;
        }
        let skipped: u32 = if head & NEXT_PLACE == 0 { read(bytes)?.try_into().ok()? } else { 0 };
        let place = before.place.checked_add(skipped).filter(|&place| place < length)?;
        if head & SAME_LOCATION == 0 {
            before.location = apply(before.location, read(bytes)?);
        }
        let order = match op.has_memory_order() {
            true => MemoryOrder::from_code(byte(bytes)?)?,
            false => MemoryOrder::Relaxed,
        };
        let operand = &mut before.operands[op.operand_kind() as usize];
        *operand = apply(*operand, read(bytes)?);
        let (thread, location) = (ThreadId(before.thread), LocationId(before.location));
        part.block.events.push(Event::from_parts(thread, op, order, *operand, location));
        part.places.push(place);
        before.place = place + 1;
    }
    Some(part)
}

/// The way from one number to another: small where they are close, whichever is larger.
fn difference(from: u32, to: u32) -> u64 {
    let difference = to.wrapping_sub(from) as i32;
    (((difference << 1) ^ (difference >> 31)) as u32).into()
}

fn apply(from: u32, difference: u64) -> u32 {
    let difference = difference as u32;
    from.wrapping_add((difference >> 1) ^ (difference & 1).wrapping_neg())
}

/// Writes a number, seven bits to a byte, the lowest first.
pub(crate) fn write(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Reads a number that was written so.
pub(crate) fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = byte(bytes)?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn byte(bytes: &mut &[u8]) -> Option<u8> {
    let (&byte, rest) = bytes.split_first()?;
    *bytes = rest;
    Some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use overtake_oracle::random::{self, Shape};
    use overtake_trace::Block;

    fn part(seed: u64) -> Part {
        let trace = random::trace(&Shape::everything(), seed);
        let places: Vec<u32> = (0..trace.events.len() as u32).map(|place| place * 3 - place % 2).collect();
        let length = trace.events.len() as u32 * 3;
        let left_out = vec![LeftOut { before: 3, thread: ThreadId(1), events: seed as u32 }];
        Part {
            block: Block { first: EventIndex(seed << 30), events: trace.events },
            places,
            length,
            left_out,
        }
    }

    #[test]
    fn a_packed_part_is_unpacked_as_it_was() {
        for seed in 0..200 {
            let (part, other) = (part(seed), part(seed + 1));
            assert_eq!(unpack(&pack(&part), other), Some(part), "seed {seed}");
        }
    }

    #[test]
    fn what_arrives_takes_the_room_of_what_was_judged() {
        let spare = SpareParts::default();
        for seed in 0..50 {
            let arrived = Content::Packed(pack(&part(seed))).part(&spare).expect("a packed part");
            spare.put(arrived);
        }
        assert_eq!(spare.0.into_inner().expect("nobody panicked").len(), 1);
    }

    #[test]
    fn bytes_that_are_cut_or_forged_are_refused_or_smaller() {
        let whole = part(1);
        let bytes = pack(&whole);
        for end in 0..bytes.len() {
            let cut = unpack(&bytes[..end], Part::default());
            assert!(cut.is_none_or(|cut| cut.places.len() < whole.places.len()), "{end} bytes");
        }
        for at in 0..bytes.len() {
            let mut forged = bytes.clone();
            forged[at] ^= 0xff;
            if let Some(part) = unpack(&forged, Part::default()) {
                assert!(part.places.is_sorted() && part.places.iter().all(|&place| place < part.length));
            }
        }
    }
}

//! Which worker a variable belongs to, and what each worker gets of a block.
//!
//! An access of an element of a heap block also reads the block, and a free writes it. So all elements of such a block belong to the
//! worker of the block. Other variables are dealt out one by one, or where they are many in pieces of 64 neighbours: arrays by parts,
//! and what is used together is mostly judged together.

use overtake_trace::{Block, Event, Id, Op, Part, Symbols, VarId, Variable};

/// Neighbours that belong to one worker, as a power of two, in traces of so many variables.
const PIECE: u32 = 6;
const MANY: usize = 1 << 16;

/// The worker of each variable.
#[derive(Debug)]
pub(crate) struct Owners {
    of: Vec<u16>,
    workers: u16,
}

impl Owners {
    /// The variables of a trace dealt out to so many workers.
    pub(crate) fn new(symbols: &Symbols, workers: u16) -> Owners {
        let variables = &symbols.variables;
        let all = || (0..variables.len()).map(VarId::from_index);
        let mut is_heap = vec![false; variables.array_count()];
        for var in all() {
            if let Variable::Block(array) = variables.get(var) {
                is_heap[array.index()] = true;
            }
        }
        let piece = if variables.len() < MANY { 0 } else { PIECE };
        let of = all().map(|var| {
            let heap_block = match variables.get(var) {
                Variable::Block(array) => Some(array),
                Variable::Element { array, .. } if is_heap[array.index()] => Some(array),
                _ => None,
            };
            match heap_block {
                Some(array) => dealt(array.0, workers),
                None => dealt(var.0 >> piece, workers),
            }
        });
        Owners { of: of.collect(), workers }
    }

    /// Who gets an event.
    #[inline]
    fn receiver(&self, event: &Event, reader: u16) -> Receiver {
        match event.op() {
            Op::Read | Op::Write | Op::Free | Op::Alloc => {
                // An id outside of its table is refused by whoever checks the event.
                Receiver::Worker(self.of.get(event.operand() as usize).copied().unwrap_or(reader))
            }
            // They order nothing; that their thread runs is seen by one worker, which is enough to see what is wrong with it.
            Op::Begin | Op::End | Op::Request | Op::Branch | Op::Skip => Receiver::Worker(reader),
            // One worker collects them, in trace order.
            Op::Misuse => Receiver::Worker(0),
            _ => Receiver::Everyone,
        }
    }

    /// What each worker gets of a block that `reader` has read.
    pub(crate) fn split(&self, block: Block, reader: u16) -> Vec<Part> {
        let length = block.events.len() as u32;
        if self.workers == 1 {
            return vec![Part { block, places: Vec::new(), length }]; // all of it
        }
        let room = block.events.len() / usize::from(self.workers) * 5 / 4;
        let part = || Part {
            block: Block { first: block.first, events: Vec::with_capacity(room) },
            places: Vec::with_capacity(room),
            length,
        };
        let mut parts: Vec<Part> = (0..self.workers).map(|_| part()).collect();
        for (place, event) in (0..length).zip(&block.events) {
            match self.receiver(event, reader) {
                Receiver::Worker(worker) => give(&mut parts[usize::from(worker)], place, event),
                Receiver::Everyone => parts.iter_mut().for_each(|part| give(part, place, event)),
            }
        }
        parts
    }
}

enum Receiver {
    Worker(u16),
    Everyone,
}

#[inline]
fn give(part: &mut Part, place: u32, event: &Event) {
    part.block.events.push(*event);
    part.places.push(place);
}

/// The worker of a number: neighbours mostly have different ones.
fn dealt(number: u32, workers: u16) -> u16 {
    ((u64::from(number.wrapping_mul(0x9e37_79b1)) * u64::from(workers)) >> 32) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use overtake_trace::{EventIndex, Trace};

    #[test]
    fn every_access_has_one_worker_and_synchronisation_has_all() {
        let text =
            b"T0|fork(T1)|1\nT0|w(x)|2\nT1|acq(m)|3\nT1|r(x)|4\nT1|rel(m)|5\nT1|branch(b)|6\nT0|join(T1)|7\n";
        let trace = Trace::parse_std(text).expect("a good trace");
        let owners = Owners::new(&trace.symbols, 3);
        let parts = owners.split(Block { first: EventIndex(8), events: trace.events.clone() }, 2);
        let mut accesses = 0;
        for (worker, part) in parts.iter().enumerate() {
            assert_eq!((part.block.first, part.length), (EventIndex(8), 7));
            let synchronise = part.block.events.iter().filter(|event| !is_alone(event)).count();
            assert_eq!(synchronise, 4, "worker {worker}");
            accesses += part.block.events.len() - synchronise;
            for (event, &place) in part.block.events.iter().zip(&part.places) {
                assert_eq!(*event, trace.events[place as usize]);
            }
        }
        assert_eq!(accesses, 3);
    }

    fn is_alone(event: &Event) -> bool {
        matches!(event.op(), Op::Read | Op::Write | Op::Branch)
    }

    #[test]
    fn the_elements_of_a_heap_block_have_its_worker() {
        let mut symbols = Symbols::default();
        for name in 0..40 {
            let array = symbols.variables.intern_array(format!("A{name}").as_bytes()).expect("few names");
            symbols.variables.intern_block(array).expect("few names");
            for index in 0..200 {
                symbols.variables.intern_element(array, index).expect("few names");
            }
        }
        let owners = Owners::new(&symbols, 4);
        for of in owners.of.chunks(201) {
            assert!(of.iter().all(|worker| *worker == of[0]));
        }
        assert!((0..4).all(|worker| owners.of.contains(&worker)), "every worker has a block");
    }
}

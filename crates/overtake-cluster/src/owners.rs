//! Which worker a variable belongs to, and what each worker gets of a block.
//!
//! An access of an element of a heap block also reads the block, and a free writes it. So all elements of such a block belong to the
//! worker of the block. Other variables are dealt out one by one, or where they are many in pieces of 64 neighbours: arrays by parts,
//! and what is used together is mostly judged together.
//!
//! A job may judge the variables in several *slices*, one after the other. The variables of a slice are the same for any number of workers. While a slice is
//! judged, accesses to the variables of others go to nobody.

use overtake_detect::{EventSet, OwnVariables};
use overtake_trace::{
    Action, Block, Event, EventIndex, Id, LeftOut, LocationId, Op, Part, Symbols, ThreadId, VarId, Variable,
};

/// Neighbours that belong to one worker, as a power of two, in traces of so many variables.
const PIECE: u32 = 6;
const MANY: usize = 1 << 16;

/// So few workers get events without a jump that depends on the event.
const FEW: u16 = 4;
const ALL: u8 = (1 << FEW) - 1;

/// The owner of the variables of other slices; none of few workers.
const NOBODY: u16 = u16::MAX;

/// Which of the slices of a job this is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Slice {
    pub(crate) number: u16,
    pub(crate) of: u16,
}

impl Slice {
    /// The worker of a variable, if it belongs to this slice. Every slice has as many hands as there are workers.
    fn owner(self, hand: u32, workers: u16) -> u16 {
        let workers = u32::from(workers);
        if hand / workers == u32::from(self.number) { (hand % workers) as u16 } else { NOBODY }
    }
}

/// The worker of each variable.
#[derive(Debug)]
pub(crate) struct Owners {
    of: Vec<u16>,
    workers: u16,
    /// The worker that reads with this.
    reader: u16,
    /// For few workers, who gets an event by its operation: fixed ones, and whether the worker of its variable does.
    receivers: [(u8, u8); Op::ALL.len()],
    /// Events for each of few workers, before they are put into parts.
    rooms: Vec<(Vec<Event>, Vec<u32>)>,
    /// Events of each thread that the first worker does not get.
    left_out: Vec<u32>,
}

impl Owners {
    /// The variables of a slice dealt out to so many workers, for a worker that reads.
    pub(crate) fn new(symbols: &Symbols, workers: u16, reader: u16, slice: Slice) -> Owners {
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
            let number = heap_block.map_or(var.0 >> piece, |array| array.0);
            slice.owner(dealt(number, u32::from(workers) * u32::from(slice.of)), workers)
        });
        let mut owners = Owners {
            of: of.collect(),
            workers,
            reader,
            receivers: [(0, 0); Op::ALL.len()],
            rooms: (0..workers.min(FEW)).map(|_| Default::default()).collect(),
            left_out: vec![0; symbols.threads.len()],
        };
        if workers <= FEW {
            owners.receivers = Op::ALL.map(|op| match receiver(op) {
                Receiver::Owner => (0, ALL),
                Receiver::Reader => (1 << reader, 0),
                Receiver::First => (1, 0),
                Receiver::Everyone => (ALL, 0),
            });
        }
        owners
    }

    /// The variables of a worker.
    pub(crate) fn own(&self, worker: u16) -> OwnVariables {
        OwnVariables::new(self.of.iter().map(|owner| *owner == worker))
    }

    /// Puts what each worker gets of a block into its part. From the second reading of the trace on, events that are `marked` go to all
    /// workers, and so do allocations: a free that is marked comes after the allocation of its block.
    pub(crate) fn split(&mut self, block: &Block, marked: Option<&EventSet>, parts: &mut [Part]) {
        for part in parts.iter_mut() {
            part.block.first = block.first;
            part.length = block.events.len() as u32;
            part.block.events.clear();
            part.places.clear();
            part.left_out.clear();
        }
        match self.workers <= FEW {
            true => self.split_for_few(block, marked, parts),
            false => self.split_for_many(block, marked, parts),
        }
        let before = parts[0].places.len() as u32;
        for (thread, events) in self.left_out.iter_mut().enumerate().filter(|(_, events)| **events > 0) {
            let (thread, events) = (ThreadId::from_index(thread), std::mem::take(events));
            parts[0].left_out.push(LeftOut { before, thread, events });
        }
    }

    /// Every event is written where the next event of each worker goes, and stays there if it is for that worker.
    fn split_for_few(&mut self, block: &Block, marked: Option<&EventSet>, parts: &mut [Part]) {
        let mut lengths = [0_usize; FEW as usize];
        let blank = Event::new(ThreadId(0), Action::Skip, LocationId(0));
        for (events, places) in &mut self.rooms {
            events.resize(events.len().max(block.events.len()), blank);
            places.resize(places.len().max(block.events.len()), 0);
        }
        for (place, event) in (0_u32..).zip(&block.events) {
            let (fixed, by_variable) = self.receivers[event.op() as usize];
            let owner = self.of.get(event.operand() as usize).copied().unwrap_or(self.reader);
            let mut receivers = fixed | (by_variable & (1 << owner.min(FEW)));
            if marked.is_some_and(|marked| is_for_all(block, place, event, marked)) {
                receivers = ALL;
            }
            for (worker, (events, places)) in self.rooms.iter_mut().enumerate() {
                let next = lengths[worker];
                (events[next], places[next]) = (*event, place);
                lengths[worker] += usize::from(receivers >> worker & 1);
            }
            let is_left_out = u32::from(receivers & 1 == 0);
            count(&mut self.left_out, event, is_left_out, lengths[0], &mut parts[0]);
        }
        for ((part, (events, places)), length) in parts.iter_mut().zip(&self.rooms).zip(lengths) {
            part.block.events.extend_from_slice(&events[..length]);
            part.places.extend_from_slice(&places[..length]);
        }
    }

    fn split_for_many(&mut self, block: &Block, marked: Option<&EventSet>, parts: &mut [Part]) {
        for (place, event) in (0_u32..).zip(&block.events) {
            let owner = self.of.get(event.operand() as usize).copied().unwrap_or(self.reader);
            let receiver = match receiver(event.op()) {
                _ if marked.is_some_and(|marked| is_for_all(block, place, event, marked)) => None,
                Receiver::Owner => Some(owner),
                Receiver::Reader => Some(self.reader),
                Receiver::First => Some(0),
                Receiver::Everyone => None,
            };
            match receiver {
                Some(NOBODY) => {}
                Some(worker) => give(&mut parts[usize::from(worker)], place, event),
                None => parts.iter_mut().for_each(|part| give(part, place, event)),
            }
            let is_left_out = u32::from(receiver.is_some_and(|worker| worker > 0));
            let given = parts[0].places.len();
            count(&mut self.left_out, event, is_left_out, given, &mut parts[0]);
        }
    }
}

/// Counts an event that the first worker may not get. Where a thread starts or joins another one, the count must be known: the event
/// has just been given to the first worker, which has so many events.
#[inline]
fn count(left_out: &mut [u32], event: &Event, is_left_out: u32, given: usize, part: &mut Part) {
    let Some(events) = left_out.get_mut(event.thread().index()) else { return };
    *events += is_left_out;
    if matches!(event.op(), Op::Fork | Op::Join) {
        let (thread, before) = (event.thread(), given as u32 - 1);
        part.left_out.push(LeftOut { before, thread, events: std::mem::take(events) });
    }
}

fn is_for_all(block: &Block, place: u32, event: &Event, marked: &EventSet) -> bool {
    matches!(event.op(), Op::Alloc | Op::Free) || marked.has(EventIndex(block.first.0 + u64::from(place)))
}

/// Who gets an event.
enum Receiver {
    /// The worker of its variable. An id outside of its table is refused by whoever checks the event.
    Owner,
    Reader,
    First,
    Everyone,
}

fn receiver(op: Op) -> Receiver {
    match op {
        Op::Read | Op::Write | Op::Free | Op::Alloc => Receiver::Owner,
        // They order nothing; that their thread runs is seen by one worker, which is enough to see what is wrong with it.
        Op::Begin | Op::End | Op::Request | Op::Branch | Op::Skip => Receiver::Reader,
        // One worker collects them, in trace order.
        Op::Misuse => Receiver::First,
        _ => Receiver::Everyone,
    }
}

#[inline]
fn give(part: &mut Part, place: u32, event: &Event) {
    part.block.events.push(*event);
    part.places.push(place);
}

/// A number below `hands`: neighbours mostly have different ones.
fn dealt(number: u32, hands: u32) -> u32 {
    ((u64::from(number.wrapping_mul(0x9e37_79b1)) * u64::from(hands)) >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use overtake_trace::Trace;

    const ONLY: Slice = Slice { number: 0, of: 1 };

    fn split(trace: &Trace, workers: u16, first: u64, marked: Option<&EventSet>) -> Vec<Part> {
        let mut parts = vec![Part::default(); workers.into()];
        let block = Block { first: EventIndex(first), events: trace.events.clone() };
        Owners::new(&trace.symbols, workers, workers - 1, ONLY).split(&block, marked, &mut parts);
        parts
    }

    #[test]
    fn every_access_has_one_worker_and_synchronisation_has_all() {
        let text =
            b"T0|fork(T1)|1\nT0|w(x)|2\nT1|acq(m)|3\nT1|r(x)|4\nT1|rel(m)|5\nT1|branch(b)|6\nT0|join(T1)|7\n";
        let trace = Trace::parse_std(text).expect("a good trace");
        for workers in 2..9 {
            let mut accesses = 0;
            for (worker, part) in split(&trace, workers, 8, None).iter().enumerate() {
                assert_eq!((part.block.first, part.length), (EventIndex(8), 7));
                let synchronise = part.block.events.iter().filter(|event| !is_alone(event)).count();
                assert_eq!(synchronise, 4, "worker {worker}");
                accesses += part.block.events.len() - synchronise;
                for (event, &place) in part.block.events.iter().zip(&part.places) {
                    assert_eq!(*event, trace.events[place as usize]);
                }
                let left_out: u32 = part.left_out.iter().map(|left_out| left_out.events).sum();
                let expected = if worker == 0 { 7 - part.places.len() as u32 } else { 0 };
                assert_eq!(left_out, expected, "worker {worker}");
            }
            assert_eq!(accesses, 3);
        }
    }

    #[test]
    fn marked_events_have_all_workers() {
        let trace = Trace::parse_std(b"T0|w(x)|1\nT0|w(y)|2\nT1|r(x)|3\n").expect("a good trace");
        let mut marked = EventSet::default();
        marked.insert(EventIndex(100));
        for workers in [3, 7] {
            let parts = split(&trace, workers, 99, Some(&marked));
            assert!(parts.iter().all(|part| part.places.contains(&1)));
            assert_eq!(parts.iter().map(|part| part.places.len()).sum::<usize>(), usize::from(workers) + 2);
            let owners = Owners::new(&trace.symbols, workers, 0, ONLY);
            let own = |var| (0..workers).filter(|&worker| owners.own(worker).has(var)).count();
            assert!((0..2).all(|var| own(VarId(var)) == 1));
        }
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
        let owners = Owners::new(&symbols, 4, 0, ONLY);
        for of in owners.of.chunks(201) {
            assert!(of.iter().all(|worker| *worker == of[0]));
        }
        assert!((0..4).all(|worker| owners.of.contains(&worker)), "every worker has a block");
    }

    #[test]
    fn the_variables_of_a_slice_do_not_depend_on_the_number_of_workers() {
        let mut symbols = Symbols::default();
        for name in 0..500 {
            symbols.variables.intern(format!("x{name}").as_bytes()).expect("few names");
        }
        let variables = || (0..500).map(VarId);
        let has = |workers, number, var| {
            let owners = Owners::new(&symbols, workers, 0, Slice { number, of: 3 });
            (0..workers).filter(|&worker| owners.own(worker).has(var)).count()
        };
        for var in variables() {
            let of_one: Vec<_> = (0..3).map(|number| has(1, number, var)).collect();
            assert_eq!(of_one.iter().sum::<usize>(), 1, "each variable has one slice");
            for workers in [2, 5, 7] {
                let of_many: Vec<_> = (0..3).map(|number| has(workers, number, var)).collect();
                assert_eq!(of_many, of_one, "{workers} workers");
            }
        }
        assert!(
            (0..3).all(|number| variables().any(|var| has(1, number, var) == 1)),
            "every slice has variables"
        );
    }
}

//! Shared by all tests of the sealed format: random traces, and reading and writing in memory.

mod crafted;
mod damage;
mod golden;
mod relayed;
mod round_trip;

use proptest::prelude::*;

use super::*;
use crate::block::{Block, EventSink, EventSource, Trace};
use crate::error::{Error, Result};
use crate::event::{Action, Event, MemoryOrder, Op};
use crate::id::{EventIndex, LocationId};
use crate::symbols::Symbols;

/// Builds a trace the way readers do: names enter the tables when events first mention them.
pub(super) struct Builder {
    pub(super) trace: Trace,
    writer: OtrWriter<Vec<u8>>,
}

/// An event in numbers, for random traces.
pub(super) type Raw = (usize, usize, u8, u16, Option<u8>);

impl Builder {
    pub(super) fn new(block_events: usize) -> Builder {
        let writer = OtrWriter::new(Vec::new()).unwrap().with_block_events(block_events);
        Builder { trace: Trace::default(), writer }
    }

    pub(super) fn push(&mut self, (op, order, thread, operand, location): Raw) {
        let symbols = &mut self.trace.symbols;
        let thread = symbols.threads.intern(format!("T{thread}").as_bytes()).unwrap();
        let action = action_of(Op::ALL[op], MemoryOrder::ALL[order], operand, symbols);
        let location = match location {
            Some(line) => symbols.locations.intern(format!("main.c:{line}").as_bytes()).unwrap(),
            None => LocationId::UNKNOWN,
        };
        self.trace.events.push(Event::new(thread, action, location));
        let last = self.trace.events.len() - 1;
        self.writer.write(&self.trace.events[last..], &self.trace.symbols).unwrap();
    }

    pub(super) fn finish(mut self) -> (Trace, Vec<u8>) {
        self.writer.finish(&self.trace.symbols).unwrap();
        (self.trace, self.writer.into_inner())
    }
}

fn action_of(op: Op, order: MemoryOrder, operand: u16, symbols: &mut Symbols) -> Action {
    let lock = |symbols: &mut Symbols| symbols.locks.intern(format!("L{}", operand % 7).as_bytes()).unwrap();
    let child =
        |symbols: &mut Symbols| symbols.threads.intern(format!("T{}", operand % 9).as_bytes()).unwrap();
    let object = |symbols: &mut Symbols| {
        symbols.objects.intern(format!("S{}#{}", operand % 3, operand % 5).as_bytes()).unwrap()
    };
    let marker = |symbols: &mut Symbols| symbols.markers.intern(&operand.to_le_bytes()).unwrap();
    let block = |symbols: &mut Symbols| {
        let array = symbols.variables.intern_array(format!("A{}", operand % 4).as_bytes()).unwrap();
        if op == Op::Alloc {
            symbols.variables.set_length(array, u64::from(operand) << 20);
        }
        symbols.variables.intern_block(array).unwrap()
    };
    let var = |symbols: &mut Symbols| {
        let name = match operand % 3 {
            0 => format!("A{}[{}]", operand % 4, operand),
            _ => format!("x{}", operand % 50),
        };
        symbols.variables.intern(name.as_bytes()).unwrap()
    };
    match op {
        Op::Read => Action::Read(var(symbols)),
        Op::Write => Action::Write(var(symbols)),
        Op::Acquire => Action::Acquire(lock(symbols)),
        Op::Release => Action::Release(lock(symbols)),
        Op::AcquireShared => Action::AcquireShared(lock(symbols)),
        Op::ReleaseShared => Action::ReleaseShared(lock(symbols)),
        Op::Fork => Action::Fork(child(symbols)),
        Op::Join => Action::Join(child(symbols)),
        Op::Begin => Action::Begin(marker(symbols)),
        Op::End => Action::End(marker(symbols)),
        Op::Load => Action::Load(var(symbols), order),
        Op::Store => Action::Store(var(symbols), order),
        Op::Rmw => Action::Rmw(var(symbols), order),
        Op::Fence => Action::Fence(order),
        Op::Post => Action::Post(object(symbols)),
        Op::Wait => Action::Wait(object(symbols)),
        Op::Alloc => Action::Alloc(block(symbols)),
        Op::Free => Action::Free(block(symbols)),
        Op::Request => Action::Request(lock(symbols)),
        Op::Branch => Action::Branch(marker(symbols)),
        Op::Skip => Action::Skip,
        Op::Misuse => Action::Misuse(marker(symbols)),
        Op::Gap => Action::Gap,
    }
}

/// A random event; accesses are as frequent as everything else together.
fn raw() -> impl Strategy<Value = Raw> {
    let op = prop_oneof![0..2_usize, 0..Op::ALL.len()];
    (op, 0..MemoryOrder::ALL.len(), 0..6_u8, any::<u16>(), proptest::option::weighted(0.9, 0..40_u8))
}

/// A random trace and its sealed file, in blocks of few events.
pub(super) fn sealed(most_events: usize) -> impl Strategy<Value = (Trace, Vec<u8>)> {
    (proptest::collection::vec(raw(), 0..most_events), 1..20_usize).prop_map(|(events, block_events)| {
        let mut builder = Builder::new(block_events);
        events.into_iter().for_each(|event| builder.push(event));
        builder.finish()
    })
}

/// A fixed trace with every operation, in several blocks.
pub(super) fn sample(events: usize, block_events: usize) -> (Trace, Vec<u8>) {
    sample_of(Op::ALL.len(), events, block_events)
}

/// As [`sample`], with only the first `operations` operations.
pub(super) fn sample_of(operations: usize, events: usize, block_events: usize) -> (Trace, Vec<u8>) {
    let mut builder = Builder::new(block_events);
    (0..events).for_each(|at| builder.push(sample_event(at, operations)));
    builder.finish()
}

/// An event of [`sample_of`].
pub(super) fn sample_event(at: usize, operations: usize) -> Raw {
    let location = (!at.is_multiple_of(7)).then_some((at * 5 % 23) as u8);
    let order = at % MemoryOrder::ALL.len();
    (at % operations, order, (at * 3 % 5) as u8, (at * 31) as u16, location)
}

/// Everything a reader hands out before its end or first error, with indices.
pub(super) struct Outcome {
    pub(super) events: Vec<(EventIndex, Event)>,
    pub(super) symbols: Symbols,
    pub(super) damage: Damage,
    pub(super) error: Option<Error>,
}

impl Outcome {
    pub(super) fn plain_events(&self) -> Vec<Event> {
        self.events.iter().map(|&(_, event)| event).collect()
    }
}

pub(super) fn read(bytes: &[u8]) -> Outcome {
    outcome(OtrReader::new(bytes))
}

pub(super) fn salvage(bytes: &[u8]) -> Outcome {
    outcome(OtrReader::salvage(bytes))
}

fn outcome(reader: Result<OtrReader<&[u8]>>) -> Outcome {
    let mut outcome =
        Outcome { events: Vec::new(), symbols: Symbols::default(), damage: Damage::default(), error: None };
    let mut reader = match reader {
        Ok(reader) => reader,
        Err(error) => return Outcome { error: Some(error), ..outcome },
    };
    let mut block = Block::default();
    loop {
        match reader.next_block(&mut block) {
            Ok(true) => {
                assert!(!block.events.is_empty(), "a block without events");
                let indices = (block.first.0..).map(EventIndex);
                outcome.events.extend(indices.zip(block.events.iter().copied()));
            }
            Ok(false) => break,
            Err(error) => {
                assert!(block.events.is_empty(), "events beside an error");
                outcome.error = Some(error);
                break;
            }
        }
    }
    outcome.damage = reader.damage().clone();
    outcome.symbols = reader.symbols().clone();
    outcome
}

/// Writes bytes to a temporary file, which lives as long as the handle.
pub(super) fn temporary(bytes: &[u8]) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    file
}

//! Blocks of events, and where they come from.

use std::ops::Range;

use crate::error::{Error, Position, Result};
use crate::event::Event;
use crate::id::{EventIndex, ThreadId, VarId};
use crate::symbols::Symbols;
use crate::text::{StdReader, StdWriter};

/// A run of consecutive events of a trace. Readers fill it, the [`Checker`](crate::Checker) checks it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Index of the first event.
    pub first: EventIndex,
    /// The events, in trace order.
    pub events: Vec<Event>,
}

/// How many events a block of a reader holds, except the last: 512 KiB of events, which stay in the second-level
/// cache while every detector walks over them.
pub const BLOCK_EVENTS: usize = 32 * 1024;

impl Default for Block {
    fn default() -> Self {
        Block { first: EventIndex(0), events: Vec::new() }
    }
}

/// Some events of a block, each with its position in the block: the part for one of several workers.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Part {
    /// The events, in trace order; `first` is the index of the whole block's first event.
    pub block: Block,
    /// The position of each event in the whole block, ascending.
    pub places: Vec<u32>,
    /// How many events the whole block has.
    pub length: u32,
    /// How many events of each thread are left out, for a checker that counts them.
    pub left_out: Vec<LeftOut>,
}

/// Events that are not in a [`Part`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LeftOut {
    /// The event of the part that they all come before, by its number there.
    pub before: u32,
    /// Their thread.
    pub thread: ThreadId,
    /// How many there are, since those that were counted before.
    pub events: u32,
}

/// Hands out a trace block by block, in bounded memory except for the names.
///
/// Ids in a block are ids of [`symbols`](Self::symbols) as they are after the call. The tables may grow with
/// the next block, but their entries never change.
pub trait EventSource {
    /// Replaces the contents of `block` by the next events. Returns false, with an empty block, at the end.
    fn next_block(&mut self, block: &mut Block) -> Result<bool>;

    /// The names seen so far.
    fn symbols(&self) -> &Symbols;

    /// The names seen so far, to be extended by the checker, which adds names when it repairs.
    fn symbols_mut(&mut self) -> &mut Symbols;

    /// Adds the variables to `ended` that no further block names, the one handed out last included, as far as the source just learnt
    /// of them: what is kept of them is no longer needed.
    fn take_ended(&mut self, ended: &mut Vec<Range<VarId>>) {
        let _ = ended;
    }

    /// How much of the input has been read.
    fn progress(&self) -> Progress {
        Progress::default()
    }

    /// Where in the input the event at `index` is: its line, for text. The event must be in the block handed out last.
    fn position_of(&self, index: EventIndex) -> Position {
        Position::Event(index)
    }

    /// Turns an error of the checker about the block handed out last into one that names the place in the input.
    fn located(&self, error: Error) -> Error {
        match error.position() {
            Position::Event(index) => error.at(self.position_of(index)),
            _ => error,
        }
    }

    /// How many input lines without an event were skipped, by kind of line. Comments and blank lines are not counted.
    fn ignored(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

/// How much of an input has been read.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Progress {
    /// Bytes of the file read so far, before decompression.
    pub bytes_read: u64,
    /// Size of the file, if known.
    pub bytes_total: Option<u64>,
}

/// A whole trace in memory: for tests, small inputs and gadgets.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The names.
    pub symbols: Symbols,
    /// The events, in trace order.
    pub events: Vec<Event>,
}

impl Trace {
    /// Reads all of `source`.
    pub fn read(source: &mut dyn EventSource) -> Result<Trace> {
        let mut events = Vec::new();
        let mut block = Block::default();
        while source.next_block(&mut block)? {
            events.extend_from_slice(&block.events);
        }
        Ok(Trace { symbols: source.symbols().clone(), events })
    }

    /// Reads all of a trace in STD text.
    pub fn parse_std(text: &[u8]) -> Result<Trace> {
        Trace::read(&mut StdReader::new(text))
    }

    /// The trace in STD text.
    pub fn to_std(&self) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        self.write(&mut StdWriter::new(&mut text))?;
        Ok(text)
    }

    /// Writes all of the trace to `sink`.
    pub fn write(&self, sink: &mut dyn EventSink) -> Result<()> {
        sink.write(&self.events, &self.symbols)?;
        sink.finish(&self.symbols)
    }

    /// Hands the trace out as a source of blocks.
    pub fn source(&self) -> MemorySource<'_> {
        MemorySource {
            events: &self.events,
            symbols: self.symbols.clone(),
            next: 0,
            block_events: BLOCK_EVENTS,
        }
    }
}

/// An [`EventSource`] over a [`Trace`] in memory.
#[derive(Debug)]
pub struct MemorySource<'a> {
    events: &'a [Event],
    symbols: Symbols,
    next: usize,
    block_events: usize,
}

impl MemorySource<'_> {
    /// Hands out blocks of `count` events instead of [`BLOCK_EVENTS`], so that tests reach block borders.
    pub fn with_block_events(mut self, count: usize) -> Self {
        self.block_events = count.max(1);
        self
    }
}

impl EventSource for MemorySource<'_> {
    fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        let end = self.events.len().min(self.next + self.block_events);
        block.first = EventIndex(self.next as u64);
        block.events.clear();
        block.events.extend_from_slice(&self.events[self.next..end]);
        self.next = end;
        Ok(!block.events.is_empty())
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}

/// Takes a trace block by block: the other side of [`EventSource`].
pub trait EventSink {
    /// Appends events whose ids are ids of `symbols`.
    fn write(&mut self, events: &[Event], symbols: &Symbols) -> Result<()>;

    /// No event behind those that were written names these variables. Outputs that nobody reads at once have no use for that.
    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        let _ = ended;
    }

    /// Completes the output. Nothing may be written afterwards.
    fn finish(&mut self, symbols: &Symbols) -> Result<()>;
}

//! Writing sealed files.

use std::io::Write;

use crate::block::EventSink;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::Event;
use crate::parameters::{ParameterCounter, Parameters};
use crate::symbols::Symbols;

use super::cutter::Cutter;
use super::events::BlockEncoder;
use super::footer::{Entry, INDEX_ENTRIES, Summary, put_entries};
use super::layout::{
    ChunkHeader, FILE_HEADER_BYTES, Kind, MAX_BLOCK_EVENTS, TRAILER_BYTES, Trailer, file_header,
};
use super::names::NameWriter;

/// Writes a sealed trace. Besides the names, memory grows only by 16 bytes for each block.
///
/// Every block is written in two writes as soon as it is full, so pass the file itself: a buffer in between saves
/// nothing, and its contents would be lost in a crash.
pub struct OtrWriter<W> {
    output: Output<W>,
    encoder: BlockEncoder,
    names: NameWriter,
    counter: ParameterCounter,
    cutter: Cutter,
    /// Events in blocks that were written.
    events: u64,
    blocks: Vec<Entry>,
    symbol_chunks: Vec<Entry>,
    payload: Vec<u8>,
    summary: Option<Summary>,
}

struct Output<W> {
    inner: W,
    offset: u64,
}

impl<W: Write> Output<W> {
    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.inner.write_all(bytes)?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn put_chunk(&mut self, kind: Kind, first: u64, count: usize, payload: &[u8]) -> Result<Entry> {
        let header = ChunkHeader::new(kind, first, count, payload);
        let entry = Entry::of(&header, self.offset);
        self.put(&header.to_bytes())?;
        self.put(payload)?;
        Ok(entry)
    }
}

impl<W: Write> OtrWriter<W> {
    /// Starts a sealed file.
    pub fn new(output: W) -> Result<OtrWriter<W>> {
        let mut output = Output { inner: output, offset: 0 };
        output.put(&file_header())?;
        debug_assert_eq!(output.offset, FILE_HEADER_BYTES as u64);
        Ok(OtrWriter {
            output,
            encoder: BlockEncoder::new()?,
            names: NameWriter::new()?,
            counter: ParameterCounter::default(),
            cutter: Cutter::default(),
            events: 0,
            blocks: Vec::new(),
            symbol_chunks: Vec::new(),
            payload: Vec::new(),
            summary: None,
        })
    }

    /// Puts `count` events into a block instead of [`BLOCK_EVENTS`](crate::BLOCK_EVENTS); between 1 and 1,048,576.
    pub fn with_block_events(mut self, count: usize) -> OtrWriter<W> {
        self.cutter = Cutter::new(count.clamp(1, MAX_BLOCK_EVENTS));
        self
    }

    /// The parameters of the trace, once it is finished.
    pub fn parameters(&self) -> Option<Parameters> {
        self.summary.map(|summary| summary.parameters)
    }

    /// Bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.output.offset
    }

    /// The output that was passed to [`new`](Self::new).
    pub fn into_inner(self) -> W {
        self.output.inner
    }

    fn write_block(&mut self, events: &[Event], symbols: &Symbols) -> Result<()> {
        if self.encoder.split(events).exceed(&symbols.sizes()) {
            let place = Position::Event(crate::id::EventIndex(self.events));
            let message = format!("an id among the next {} events is outside its table", events.len());
            return Err(Error::new(ErrorKind::IllFormed, place, message));
        }
        let OtrWriter { output, names, symbol_chunks, events: before, .. } = self;
        names.write_new(symbols, events, &mut |payload, count| {
            symbol_chunks.push(output.put_chunk(Kind::SYMBOLS, *before, count, payload)?);
            Ok(())
        })?;
        self.payload.clear();
        self.encoder.encode(&mut self.payload)?;
        let entry = self.output.put_chunk(Kind::EVENTS, self.events, events.len(), &self.payload)?;
        self.blocks.push(entry);
        self.counter.add(events);
        self.events += events.len() as u64;
        Ok(())
    }

    fn write_footer(&mut self, symbols: &Symbols) -> Result<()> {
        let sizes = symbols.sizes();
        let parameters = self.counter.parameters(&sizes);
        let summary = Summary::new(parameters, &sizes, symbols.variables.array_count());
        let footer = self.output.offset;
        self.payload.clear();
        summary.put(&mut self.payload);
        self.output.put_chunk(Kind::PARAMETERS, 0, 1, &self.payload)?;
        for (kind, entries) in [(Kind::BLOCK_INDEX, &self.blocks), (Kind::SYMBOL_INDEX, &self.symbol_chunks)]
        {
            for (position, section) in entries.chunks(INDEX_ENTRIES).enumerate() {
                self.payload.clear();
                put_entries(section, &mut self.payload);
                let first = (position * INDEX_ENTRIES) as u64;
                self.output.put_chunk(kind, first, section.len(), &self.payload)?;
            }
        }
        let file_bytes = self.output.offset + TRAILER_BYTES as u64;
        self.output.put(&Trailer { footer, file_bytes, events: self.events }.to_bytes())?;
        self.output.inner.flush()?;
        self.summary = Some(summary);
        Ok(())
    }
}

impl<W: Write> EventSink for OtrWriter<W> {
    fn write(&mut self, events: &[Event], symbols: &Symbols) -> Result<()> {
        if self.summary.is_some() {
            let message = "events after the end of a sealed trace";
            return Err(Error::new(ErrorKind::Unsupported, Position::Nowhere, message));
        }
        self.cut(symbols, |cutter, each| cutter.cut(events, each))
    }

    fn finish(&mut self, symbols: &Symbols) -> Result<()> {
        if self.summary.is_some() {
            return Ok(());
        }
        self.cut(symbols, Cutter::rest)?;
        let OtrWriter { output, names, symbol_chunks, events, .. } = self;
        names.write_rest(symbols, &mut |payload, count| {
            symbol_chunks.push(output.put_chunk(Kind::SYMBOLS, *events, count, payload)?);
            Ok(())
        })?;
        self.write_footer(symbols)
    }
}

impl<W: Write> OtrWriter<W> {
    /// Writes the blocks that the cutter makes.
    fn cut(
        &mut self,
        symbols: &Symbols,
        work: impl FnOnce(&mut Cutter, &mut dyn FnMut(&[Event]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        let mut cutter = std::mem::take(&mut self.cutter);
        let done = work(&mut cutter, &mut |block| self.write_block(block, symbols));
        self.cutter = cutter;
        done
    }
}
